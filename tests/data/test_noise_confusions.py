"""Confusions: the built-in shapes, tables learned from pairs of texts, and their files."""

import json
import random

import editdistance
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.data.noise import Confusions, Noise, NoiseOptions, sentence_random
from lev_plugins.data.noise.confusions import (
    BUILT_IN,
    changes,
    learn,
    load_confusions,
    to_json,
)
from lev_plugins.data.noise.letters import clusters

LETTERS = st.text("abc é", max_size=12)


def ocr(line: str, number: int = 0, **options) -> str:
    return Noise(NoiseOptions(kinds=("ocr",), **options))(line, sentence_random(1, 0, number))


@given(LETTERS, LETTERS)
def test_an_alignment_is_minimal_and_turns_one_text_into_the_other(before, after):
    found = changes(before, after)
    made, cost, at = "", 0, 0
    for i, j, k, m in found:
        assert i >= at and (i, k) != (j, m)
        made += before[at:i] + after[k:m]
        cost += max(j - i, m - k)
        at = j
    assert made + before[at:] == after
    assert cost == editdistance.eval(before, after)
    assert all(one[1] < other[0] for one, other in zip(found, found[1:])), "neighbours are joined"


def test_built_in_confusions_replace_pieces_of_the_table():
    shapes = BUILT_IN.table
    for clean, ways in shapes.items():
        assert clean not in ways and all(weight == 1 for weight in ways.values())
        assert not any(map(str.isspace, clean + "".join(ways)))
        assert 1 <= len(clusters(clean)) <= 3
    assert "1" in shapes["l"] and "O" in shapes["0"] and "н" in shapes["и"]
    assert "f" in shapes["ſ"] and "ſ" not in shapes["f"], "one way alone"
    seen = {ocr("modern", number, char_rate=0.1) for number in range(200)}
    assert "rnodern" in seen and "modem" in seen and "modern" not in seen
    for word in seen:
        ((i, j, k, m),) = changes("modern", word)
        assert m - k <= 3 and j - i <= 2
    assert ocr("xxxxx") == "xxxxx", "nothing is like it"


def test_learned_rates_are_those_of_the_text():
    pairs = [("modem tirne", "modern time"), ("the man", "the man"), ("thc mam", "the man")]
    table, seen = learn(pairs, least=1)
    assert table == {
        "e": {"c": pytest.approx(1 / 4)},
        "m": {"rn": pytest.approx(1 / 4)},
        "n": {"m": pytest.approx(1 / 3)},
        "rn": {"m": 1.0},
    }
    assert (seen.lines, seen.changes, seen.characters, seen.left_out) == (3, 4, 11 + 7 + 7, 0)
    table, seen = learn(pairs)
    assert table == {} and seen.left_out == 4, "each was seen once"


@pytest.mark.parametrize(
    ("pairs", "table", "left_out"),
    [
        # insertions count with the character before them, losses as nothing
        ([("a.b", "ab"), (".a b", "a b")], {"a": {"a.": 0.5, ".a": 0.5}}, 0),
        ([("c", "cd")], {"d": {"": 1.0}}, 0),
        # spaces and long stretches are left out
        ([("issaid", "is said"), ("a b", "ab"), ("wxyz", "abcd"), ("", "x")], {"x": {"": 1.0}}, 3),
    ],
)
def test_what_is_learned_of_insertions_spaces_and_long_stretches(pairs, table, left_out):
    made, seen = learn(pairs, least=1)
    assert made == table and seen.left_out == left_out


def test_noise_from_a_learned_table_has_its_rates_and_is_learned_back():
    true = {"m": {"rn": 0.2, "n": 0.1}, "rn": {"m": 0.5}, "é": {"e": 0.3}, "t": {"": 0.05}}
    choose = random.Random(3)
    # something that is always read right stands between what is not
    text = ["os".join(choose.choices(["m", "rn", "é", "t", " "], k=20)) for _ in range(300)]
    table = Confusions(true, measured=True)

    def read(scale: float) -> list[str]:
        options = {"confusions": table, "confusion_scale": scale}
        return [ocr(line, number, **options) for number, line in enumerate(text)]

    once = read(1.0)
    found, _ = learn(zip(once, text, strict=True), least=5)
    for clean, ways in true.items():
        assert found[clean] == pytest.approx(ways, rel=0.25)
    assert read(0.0) == text
    twice, errors = (sum(map(editdistance.eval, made, text)) for made in (read(2.0), once))
    assert twice > 1.5 * errors


def test_a_word_is_never_read_as_nothing():
    gone = Confusions({"a": {"": 1.0}}, measured=True)
    assert ocr("a ab aaa", confusions=gone) == "a b aaa"


def test_a_table_comes_back_from_its_file(tmp_path):
    table, seen = learn([("modem", "modern"), ("modem", "modern"), ("thé", "thê")], least=1)
    path = tmp_path / "table.json"
    path.write_text(to_json(table, seen), encoding="utf-8")
    made = load_confusions(str(path))
    assert made.table == table and made.measured and made.longest == 2
    assert json.loads(path.read_text("utf-8"))["learned"]["lines"] == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, "") for text in (None, "{", "[1]", '{"rates": {}}')),
        ('{"rates": {"a": 0.5}}', "'a'"),
        ('{"rates": {"a": {"b": 1.5}}}', "'a'"),
        ('{"rates": {"a": {"b": "x"}}}', "'a'"),
        ('{"rates": {"a": {"b": 0.7, "c": 0.7}}}', "'a'"),
        ('{"rates": {"a": {"b c": 0.1}}}', "'b c'"),
        ('{"rates": {"": {"b": 0.1}}}', "''"),
        ('{"rates": {"abcd": {"b": 0.1}}}', "'abcd'"),
    ],
)
def test_a_table_that_cannot_be_is_named(tmp_path, text, said):
    path = tmp_path / "table.json"
    if text is not None:
        path.write_text(text)
    with refuses(f"{path}: ", said):
        load_confusions(str(path))
