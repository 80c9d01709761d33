"""Confusions: the built-in shapes, tables learned from pairs of texts, and their files."""

import pytest
from refusals import refuses

from lev_plugins.data.noise.confusions import SHAPES, learn, load_confusions
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
    "pairs, table",
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


@pytest.mark.parametrize(
    "text, message",
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
