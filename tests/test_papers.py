"""docs/papers.md: each figure of ours is one of a row; the line names its table and origin."""

import re
import sys

import pytest
from plain_files import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import prose  # noqa: E402
import results  # noqa: E402

PAGE = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
LINES = [line.strip("| ").split(" | ") for line in re.findall(r"^\| \d.*\|$", PAGE, re.M)]
TABLES = results.tables(results.read(ROOT / results.LIST))
VERDICTS = {
    "**yes**": "hold",
    "*in part*": "in part",
    "*a tie*": "is a tie",
    "**no**": "do not",
    "*no evidence*": "have no evidence",
    "open": "are open",
}


def figures(here: str, why: str) -> list[str]:
    """Returns the numbers of a line that are ours: all that are here, and broken ones among the
    reasons, whose whole numbers are seeds, updates and minutes."""
    said = prose.NUMBER.findall(prose.NOT_PROSE.sub(" ", here))
    return said + [n for n in prose.NUMBER.findall(prose.NOT_PROSE.sub(" ", why)) if "." in n]


def has(row: results.Record, number: str) -> bool:
    """Returns whether a row has a number, as a metric or a setting in its name."""
    return number in prose.NUMBER.findall(row["system"]) or any(
        prose.rounds(number, value) for value in row["metrics"].values()
    )


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_every_figure_of_a_claim_is_one_of_a_row_that_the_line_names(line):
    here, why, named = line[3], line[4], line[5] if len(line) > 5 else ""
    rows = [row for name in re.findall(r"\[([\w-]+)\]", named) for row in TABLES[name].rows]
    for number in figures(here, why):
        sources = [row for row in rows if has(row, number)]
        assert sources, f"{number} is in no row of {named}"
        machines = {(row.get("version"), re.match(r"\w+ (\w+)", row["cpu"])[1]) for row in sources}
        assert any(version in named and cpu in named for version, cpu in machines), number


def test_the_claims_are_counted_by_their_verdicts():
    begun = [next(name for name in VERDICTS if line[4].startswith(name)) for line in LINES]
    assert [line[0] for line in LINES] == [str(n + 1) for n in range(len(LINES))]
    for verdict, says in VERDICTS.items():
        assert re.search(rf"\b{begun.count(verdict)} {says}\b", PAGE), verdict
