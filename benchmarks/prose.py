"""Compares every number in the documents' prose with the list of results.

    python benchmarks/prose.py             # status 1, and a line for each number that is not known
    python benchmarks/prose.py --accept    # lists what the pages say now: look at the difference

Prose is all text outside of code, links and the tables that results.py writes. prose.jsonl lists
the numbers of each page: with the table, row and metric that one rounds, perhaps divided by that of
another row or multiplied by a number, or with a word that says what it is if it has no row.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LISTS = [ROOT / "benchmarks" / name for name in ("prose.jsonl", "results.jsonl")]
#: not text of ours, of earlier versions, or read by a test of its own (tests/test_papers.py)
ELSEWHERE = (".", "build", "tests", "CHANGELOG", "docs/papers.md")
NOT_PROSE = re.compile(
    r"^```.*?^```|^ {4}.*?$|^<!-- table: .*?\n(?:\|[^\n]*\n)*|`[^`]*`|\]\([^)]*\)|https?://\S+",
    re.M | re.S,
)
NUMBER = re.compile(r"(?<![\w.,#/-])\d(?:[\d,]*\d)?(?:\.\d+)?\b(?!\.\d)(?:\s%)?")


def numbers() -> dict[str, set[str]]:
    """Returns the numbers of each document of this version, in percent with the sign."""
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in ROOT.glob("**/*.md")}
    return {
        page: set(map(" ".join, map(str.split, NUMBER.findall(NOT_PROSE.sub(" ", text)))))
        for page, text in sorted(texts.items())
        if not page.startswith(ELSEWHERE)
    }


def rounds(number: str, value: Any) -> bool:
    """Returns whether a number is a metric, or one of its mean, lowest and highest, rounded."""
    plain = number.removesuffix(" %")
    digits = len(plain.partition(".")[2])
    measured = value.values() if isinstance(value, dict) else [value]
    return plain in [f"{each:,.{digits}f}" for each in measured if each is not None]


def value_of(source: Sequence[Any], metrics: dict[tuple[str, str], Any]) -> Any:
    """Returns the metric of a row, divided by another row's or multiplied by a number, if given."""
    table, system, metric, *others = source
    value = metrics[table, system][metric]
    for other in others:
        value *= 1 / metrics[table, other][metric] if isinstance(other, str) else other
    return value


def main() -> int:
    """Runs the script; returns 1 if a number is not known."""
    listed, rows = (map(json.loads, path.read_text("utf-8").splitlines()) for path in LISTS)
    sources = {line["page"]: line["numbers"] for line in listed}
    metrics = {(row["table"], row["system"]): row["metrics"] for row in rows if "metrics" in row}
    lines, wrong = [], []
    for page, shown in numbers().items():
        known = sources.get(page, {})
        if "--accept" in sys.argv:
            known = {number: known.get(number) for number in sorted(shown)}
        lines.append(json.dumps({"page": page, "numbers": known}) + "\n")
        wrong += [f"{page}: {number} is said or listed, not both" for number in shown ^ {*known}]
        for number, source in known.items():
            if not source:
                wrong.append(f"{page}: {number} has no row, and no word says why")
            elif not isinstance(source, str) and not rounds(number, value_of(source, metrics)):
                wrong.append(f"{page}: {number} is not {source}")
    if "--accept" in sys.argv:
        LISTS[0].write_text("".join(lines), "utf-8")
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
