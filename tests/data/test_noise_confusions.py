"""Confusions: the built-in shapes, tables learned from pairs of texts, and their files."""

import random

import editdistance
import pytest
from refusals import refuses

from lev_plugins.data.noise.confusions import SHAPES, Confusions, learn, load_confusions
from lev_plugins.data.noise.letters import clusters
from lev_plugins.data.noise.noiser import Noise
from lev_plugins.data.noise.rng import sentence_random


def ocr(line: str, number: int = 0, **options) -> str:
    return Noise(("ocr",), **options)(line, sentence_random(1, 0, number))


def test_built_in_confusions_replace_pieces_of_the_table():
    for clean, ways in SHAPES.items():
        assert clean not in ways and len(clusters(clean)) <= 3
        assert not any(map(str.isspace, clean + "".join(ways)))
    seen = {ocr("modern", number, char_rate=0.1) for number in range(200)}
    assert "rnodern" in seen and "modem" in seen and "modern" not in seen


@pytest.mark.parametrize(
    ("pairs", "table"),
    [
        ([("the man", "the man"), ("thc mam", "the man")], {"e": {"c": 0.5}, "n": {"m": 0.5}}),
        # insertions count with the character before them, losses as nothing
        ([("a.b", "ab"), (".a b", "a b")], {"a": {"a.": 0.5, ".a": 0.5}}),
        ([("c", "cd")], {"d": {"": 1.0}}),
        ([(".a.", "a")], {"a": {".a": 0.5, "a.": 0.5}}),  # never more often than always
        # spaces and long stretches are left out
        ([("issaid", "is said"), ("a b", "ab"), ("wxyz", "abcd"), ("", "x")], {"x": {"": 1.0}}),
    ],
)
def test_learned_rates_are_those_of_the_text(pairs, table):
    assert learn(pairs, least=1) == table
    assert learn(pairs) == {}, "each was seen once"


def test_noise_from_a_learned_table_has_its_rates_and_is_learned_back():
    true = {"m": {"rn": 0.2, "n": 0.1}, "rn": {"m": 0.5}, "é": {"e": 0.3}, "t": {"": 0.05}}
    choose = random.Random(3)
    # something that is always read right stands between what is not
    text = ["os".join(choose.choices(["m", "rn", "é", "t", " "], k=20)) for _ in range(300)]

    def read(scale: float) -> list[str]:
        options = {"confusions": Confusions(true), "confusion_scale": scale}
        return [ocr(line, number, **options) for number, line in enumerate(text)]

    never, once, twice = map(read, (0.0, 1.0, 2.0))
    learned = learn(zip(once, text, strict=True), least=5)
    for clean, ways in true.items():
        assert learned[clean] == pytest.approx(ways, rel=0.25)
    assert never == text
    errors = [sum(map(editdistance.eval, noisy, text)) for noisy in (once, twice)]
    assert errors[1] > 1.5 * errors[0]
    assert ocr("a ab aaa", confusions=Confusions({"a": {"": 1.0}})) == "a b aaa", "never nothing"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "") for text in ("{", "[1]", '{"rates": {}}', '{"rates": {"a": 0.5}}')),
        ('{"rates": {"a": {"b": "x"}}}', ""),
        ('{"rates": {"a": {"b": 1.5}}}', "'a'"),
        ('{"rates": {"a": {"b": -0.1}}}', "'a'"),
        ('{"rates": {"a": {"b c": 0.1}}}', "'a'"),
        ('{"rates": {"": {"b": 0.1}}}', "''"),
        ('{"rates": {"abcd": {"b": 0.1}}}', "'abcd'"),
    ],
)
def test_a_table_that_cannot_be_is_named(tmp_path, text, message):
    path = tmp_path / "table.json"
    with refuses(f"{path} does not exist"):
        load_confusions(str(path))
    path.write_text(text)
    with refuses(f"{path} ", message):
        load_confusions(str(path))
