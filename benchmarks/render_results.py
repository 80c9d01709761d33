"""Writes the tables of RESULTS.md, and of the notes, from the files in benchmarks/results.

    python benchmarks/render_results.py            # rewrites the tables
    python benchmarks/render_results.py --check    # says which tables are not as the files say

A table stands below the line ``<!-- table: NAME -->``, and ends with the first line that is not of
it. The text around it is left as it is.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import result_files
from result_files import BASELINES, Record, ResultError, Table, number

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^(<!-- table: ([\w-]+) -->\n)((?:\|.*\n)*)", re.M)
NOT_KNOWN = "–"


def documents(root: Path) -> list[Path]:
    """All documents that may hold tables."""
    return [*sorted(root.glob("*.md")), *sorted(root.glob("benchmarks/**/*.md"))]


def filled(text: str, tables: Mapping[str, Table], place: str) -> str:
    """A document with its tables written anew.

    Raises:
        ResultError: it names a table that is not there.
    """

    def block(match: re.Match[str]) -> str:
        if match[2] not in tables:
            raise ResultError(f"{place}: there is no benchmarks/results/{match[2]}.json")
        return match[1] + rendered(tables[match[2]])

    return BLOCK.sub(block, text)


def rendered(table: Table) -> str:
    """A table in Markdown, with the best of each column in bold."""
    columns = table.head["columns"]
    best = {column["metric"]: _best(column, table.rows) for column in columns}
    head = [table.head.get("head", ""), *(column["head"] for column in columns)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in table.rows:
        cells = [_cell(row, column, best[column["metric"]]) for column in columns]
        lines.append("| " + " | ".join([_first(row), *cells]) + " |")
    return "".join(line + "\n" for line in lines)


def _first(row: Record) -> str:
    """The system; older versions and what it loses to are named."""
    text = row["system"]
    version = row["measured"].get("version", "")
    if row["kind"] == "system" and version != result_files.version():
        text += f" (version {version})"
    lost = " and ".join(BASELINES[kind] for kind in row.get("loses_to", []))
    return f"{text}: **loses to {lost}**" if lost else text


def _best(column: Record, rows: Sequence[Record]) -> float | None:
    """The best figure of what was measured here."""
    if "best" not in column:
        return None
    found = [
        number(row["metrics"][column["metric"]])
        for row in rows
        if row["kind"] != "published"
        and not isinstance(row["metrics"].get(column["metric"], ""), str)
    ]
    choose = max if column["best"] == "highest" else min
    return choose(found) if len(found) > 1 else None


def _cell(row: Record, column: Record, best: float | None) -> str:
    metric = column["metric"]
    if metric == "seeds":
        return str(len(row["seeds"]) or "")
    if metric == "processor_hours":
        value = row["measured"].get(metric)
    else:
        value = row["metrics"].get(metric)
    if value is None:
        return NOT_KNOWN
    if isinstance(value, str):
        return value
    text = _written(number(value), column)
    if best is not None and row["kind"] != "published" and number(value) == best:
        text = f"**{text}**"
    if isinstance(value, dict):
        text += f" ({_written(value['lowest'], column)} … {_written(value['highest'], column)})"
    return text


def _written(value: float, column: Record) -> str:
    digits = column.get("digits", 2)
    return f"{value:,.{digits}f}{column.get('unit', '')}"


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite, or compare; 1 where something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add: Any = parser.add_argument
    add("--check", action="store_true", help="change nothing; say what would change, status 1")
    add("--root", type=Path, default=ROOT, help="the repository's folder")
    args = parser.parse_args(argv)
    try:
        tables = result_files.read(args.root / "benchmarks" / "results")
        wrong = [line for table in tables.values() for line in result_files.contradictions(table)]
        texts = {path: path.read_text(encoding="utf-8") for path in documents(args.root)}
        new = {path: filled(text, tables, path.name) for path, text in texts.items()}
    except ResultError as error:
        wrong, new, texts = [str(error)], {}, {}
    shown = {match[2] for text in texts.values() for match in BLOCK.finditer(text)}
    wrong += [f"no document shows {name}" for name in (tables if new else {}) if name not in shown]
    for path in [path for path in new if new[path] != texts[path]] if not wrong else []:
        if args.check:
            wrong.append(
                f"{path.relative_to(args.root)} is not as benchmarks/results says: "
                "python benchmarks/render_results.py"
            )
        else:
            path.write_text(new[path], encoding="utf-8")
            print(f"written: {path.relative_to(args.root)}")
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
