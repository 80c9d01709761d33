"""Confusions: the built-in shapes, tables learned from pairs of texts, and their files."""

import pytest
from refusals import refuses
from tables import cases, table

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


@pytest.mark.parametrize("pairs, table", cases("data/cases.tsv", "rates"))
def test_learned_rates_are_those_of_the_text(pairs, table):
    assert learn(pairs, least=1) == table
    assert learn(pairs) == {}, "each was seen once"


@pytest.mark.parametrize("text, message", table("data/cases.tsv", "no confusions"))
def test_a_table_that_cannot_be_is_named(tmp_path, text, message):
    path = tmp_path / "table.json"
    with refuses(f"{path} does not exist"):
        load_confusions(str(path))
    path.write_text(text)
    with refuses(f"{path} ", message):
        load_confusions(str(path))
