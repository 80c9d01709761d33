"""Each row of the scanner's table cuts its sample as no other row does."""

import pytest
from tables import rows

from lev_correct.files.formats import CODE, table_rows
from lev_correct.files.scanner import ROWS, scanned


def tokens(language: str, text: str) -> str:
    """Returns the comments and strings of a text, · for values that are put in."""
    found = scanned(text, language)
    cut = [f"{role} {value}" for role, _, value in found if role not in ("code", "name")]
    return " | ".join(cut).replace(CODE, "·")


@pytest.mark.parametrize("row", table_rows("languages.tsv"), ids=repr)
def test_a_row_cuts_what_no_other_one_does(row, monkeypatch):
    names, _, _, _, pattern, *cells = row
    ((sample, expected),) = rows("\t".join(cells), "\t")
    for name in names.split(", "):
        assert tokens(name, sample) == expected
    others = [row for row in ROWS[name] if row[4] != pattern]
    monkeypatch.setitem(ROWS, pattern, others)
    assert not others or tokens(pattern, sample) != expected
