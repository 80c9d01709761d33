"""Each pattern of a format hides what its sample shows."""

import re
from pathlib import Path

import pytest
from tables import rows

from lev_correct.files import formats

TABLE = Path(formats.__file__).with_name("formats.tsv").read_text("utf-8").splitlines()[1:]
ROWS = [line.split("\t") for line in TABLE]


def left(text: str, name: str) -> str:
    """Returns what a format leaves of a text: · for code, ¶ where a sentence begins."""
    shown = formats.settled(formats.masked(text, name))
    shown = re.sub(f"{formats.CODE}+", "·", shown)
    return " ".join(re.sub(f"{formats.BREAK}+", "¶", shown).split())


@pytest.mark.parametrize("names, what, pattern, sample, expected", ROWS, ids=lambda cell: cell[:30])
def test_a_pattern_hides_what_no_other_one_does(
    names, what, pattern, sample, expected, monkeypatch
):
    ((text,),) = rows(sample, "\t")
    name = names.split(", ")[0]
    assert left(text, name) == expected
    others = [other for other in formats.FORMATS[name] if other != pattern]
    monkeypatch.setitem(formats.FORMATS, pattern, others)
    assert left(text, pattern) != expected
