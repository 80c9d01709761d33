"""Confusions: the built-in shapes, tables learned from pairs of texts, and their files."""

import json
import random
import re

import editdistance
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.data.noise import (
    Confusions,
    Noise,
    NoiseOptions,
    alignment,
    learn,
    load_confusions,
    sentence_random,
    to_json,
)
from lev_plugins.data.noise.alignment import changes
from lev_plugins.data.noise.clusters import clusters
from lev_plugins.data.noise.ocr_confusions import SHAPES
from lev_plugins.errors import UserError

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


def test_texts_too_long_and_too_different_are_not_aligned(monkeypatch):
    monkeypatch.setattr(alignment, "MOST_CELLS", 100)
    assert changes("a" * 50, "b" * 50) is None
    assert changes("a" * 50 + "x" + "c" * 50, "a" * 50 + "y" + "c" * 50) == [(50, 51, 50, 51)]
    table, seen = learn([("b" * 50, "a" * 50), ("cat", "eat"), ("cat", "eat")])
    assert seen.unaligned == 1 and table == {"e": {"c": 1.0}}


def test_the_shapes_are_pieces_without_spaces():
    assert {"m", "rn"} <= set(SHAPES) and "rn" in SHAPES["m"] and "m" in SHAPES["rn"]
    assert "1" in SHAPES["l"] and "O" in SHAPES["0"] and "н" in SHAPES["и"]
    for clean, ways in SHAPES.items():
        assert clean not in ways and all(weight == 1 for weight in ways.values())
        assert not any(map(str.isspace, clean + "".join(ways)))
        assert 1 <= len(clusters(clean)) <= 3


def test_built_in_confusions_replace_pieces_of_the_table():
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
    assert (seen.lines, seen.changes, seen.characters) == (3, 4, 11 + 7 + 7)
    table, seen = learn(pairs)
    assert table == {} and seen.rare == 4


def test_insertions_count_with_the_character_before_them_and_losses_as_nothing():
    table, seen = learn([("a.b", "ab"), (".a b", "a b"), ("c", "cd")], least=1)
    assert table == {"a": {"a.": 0.5, ".a": 0.5}, "d": {"": 1.0}}
    assert seen.spaced == seen.long == 0


def test_spaces_and_long_stretches_are_left_out_and_counted():
    table, seen = learn([("issaid", "is said"), ("a b", "ab"), ("wxyz", "abcd"), ("", "x")], 1)
    assert (seen.spaced, seen.long, seen.changes) == (2, 1, 4)
    assert table == {"x": {"": 1.0}}


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
    assert sum(map(editdistance.eval, read(2.0), text)) > 1.5 * sum(
        map(editdistance.eval, once, text)
    )


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
    "text, said",
    [
        ("{", "not JSON"),
        ("[1]", "no confusions in it; make a table with"),
        ('{"rates": {}}', "no confusions in it"),
        ('{"rates": {"a": 0.5}}', "'a': write"),
        ('{"rates": {"a": {"b": 1.5}}}', "'a': the rate 1.5 is outside [0, 1]"),
        ('{"rates": {"a": {"b": "x"}}}', "'a': the rate 'x' is outside"),
        ('{"rates": {"a": {"b": 0.7, "c": 0.7}}}', "'a': its rates are 1.4 together"),
        ('{"rates": {"a": {"b c": 0.1}}}', "the segment 'b c' has to have 0 to 3 characters"),
        ('{"rates": {"": {"b": 0.1}}}', "the segment '' has to have 1 to 3"),
        ('{"rates": {"abcd": {"b": 0.1}}}', "the segment 'abcd'"),
    ],
)
def test_a_table_that_cannot_be_is_named(tmp_path, text, said):
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(f"{path}: ")) as error:
        load_confusions(str(path))
    assert said in str(error.value)


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match="none.json: cannot be read"):
        load_confusions(str(tmp_path / "none.json"))
