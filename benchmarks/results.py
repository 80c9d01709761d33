"""The results: one list, benchmarks/results.jsonl, and the tables and charts drawn from it.

    python benchmarks/results.py                    # writes RESULTS.md, the notes and docs/figures
    python benchmarks/results.py --check            # only names what differs from the list
    python benchmarks/results.py --add TABLE SYSTEM NAME FILE …   # updates a row with new numbers
    python benchmarks/results.py --commands [TABLE [SYSTEM]]     # the commands of a row; the rows

A line of the list is the head of a table or a row of it (benchmarks/README.md lists the fields).
A table stands below the line ``<!-- table: NAME -->`` of a document.

``--add``: each FILE is the output of an evaluation, one for each seed (--seeds 1 2 3): ``systems``,
by name or as a list with names, with their numbers. NAME is the system there; . reads the numbers
of the file itself. Only metrics that are columns of TABLE are read. The row has to be in the list
with its commands: for a new one copy another line and change what differs.
"""

import argparse
import datetime
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from charts import CHARTS, Range, Record, drawn, read_metric

from lev_runtime import __version__

ROOT = Path(__file__).resolve().parents[1]
LIST = Path("benchmarks", "results.jsonl")
FIGURES = Path("docs", "figures")
BLOCK = re.compile(r"^(<!-- table: ([\w-]+) -->\n)((?:\|.*\n)*)", re.M)

#: kinds of rows that need no training; a system should not be below them
BASELINES = {
    "no-edit": "no edits",
    "look-up": "look-up",
    "dictionary": "dictionary",
    "majority": "most frequent class",
    "linear": "linear model",
}
KINDS = (*BASELINES, "system")
#: what some columns call the figures of lev-report
COLUMN_OF_FIGURE = {
    "word_accuracy": "words_right",
    "ter_normalized": "ter",
    "accuracy": "exact",
    "iterations, mean": "iterations",
}
#: rows of versions before this one are marked
RECENT = [0, 9]
MEASURED = ("command", "version", "date", "cpu", "cores", "torch")


@dataclass
class Table:
    """A table's head and its rows, baselines first."""

    head: Record
    rows: list[Record] = field(default_factory=list)


# ---------------------------------------------------------------- the list


def read(path: Path) -> list[Record]:
    """Reads and checks the lines of a list; ValueError names the line that is wrong."""
    records: list[Record] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            records.append(json.loads(line))
            if "columns" not in records[-1]:
                check(records[-1])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path.name}, line {number}: {error}") from error
    return records


def check(record: Record) -> None:
    """Raises ValueError if a row lacks a field, or its seeds' range."""
    if record["kind"] not in KINDS:
        raise ValueError(f"kind {record['kind']!r}; there are {', '.join(KINDS)}")
    if missing := [name for name in (*MEASURED, "metrics") if not record.get(name)]:
        raise ValueError(f"{record['system']!r} has no {', '.join(missing)}")
    for name, value in record["metrics"].items():
        if isinstance(value, float) and len(record.get("seeds", ())) > 1:
            raise ValueError(f"{name}: {value} of several seeds; give mean, lowest and highest")
        metric = Range(0, 0, 0) if isinstance(value, str) else read_metric(value)
        if not metric.low <= metric.mean <= metric.high:
            raise ValueError(f"{name}: {value} is not between its lowest and highest")


def tables(records: Iterable[Record]) -> dict[str, Table]:
    """Groups heads and rows by table; ValueError for a missing head or a doubled system."""
    by_name: dict[str, Table] = {}
    for record in records:
        name = record["table"]
        if "columns" in record:
            by_name[name] = Table(record)
        elif name not in by_name:
            raise ValueError(f"{record['system']!r}: no table {name} before it")
        elif any(row["system"] == record["system"] for row in by_name[name].rows):
            raise ValueError(f"{name} has a row {record['system']!r} already")
        else:
            by_name[name].rows.append(record)
    for table in by_name.values():
        table.rows.sort(key=lambda row: row["kind"] not in BASELINES)
    return by_name


def write(path: Path, records: Iterable[Record]) -> None:
    """Writes a list, without spaces between fields."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    path.write_text("".join(encode(record) + "\n" for record in records), encoding="utf-8")


def select(by_name: Mapping[str, Table], name: str, system: str | None = None) -> list[Record]:
    """Returns the rows of a table, or one system's; ValueError if there is none."""
    if name not in by_name:
        raise ValueError(f"no table {name}; there are {', '.join(by_name)}")
    rows = [row for row in by_name[name].rows if system in (None, row["system"])]
    if not rows:
        raise ValueError(f"{name} has no row {system!r}")
    return rows


def commands(by_name: Mapping[str, Table], names: Sequence[str]) -> list[str]:
    """Returns the commands of a table's rows without repetition; without names the rows."""
    if names:
        rows = select(by_name, *names[:2])
        return list(dict.fromkeys(line for row in rows for line in row.get("command", ())))
    pairs = [(name, row) for name, table in by_name.items() for row in table.rows]
    return [f"{name}\t{row['system']}" for name, row in pairs]


# ---------------------------------------------------------------- a row from evaluations


def metrics(path: str, name: str) -> dict[str, float]:
    """Returns a system's numbers by column: ``micro-F1, tuned`` → micro_f1_tuned."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    systems = {name: content} if name == "." else content["systems"]
    if isinstance(systems, list):
        systems = {system["name"]: system for system in systems}
    if name not in systems:
        raise ValueError(f"{path} has no system {name!r}; there are {', '.join(systems)}")
    # a count stands before what it is a share of
    figures = {
        key: value[0] if isinstance(value, list) else value
        for key, value in systems[name].get("figures", {}).items()
    }
    other_names = {COLUMN_OF_FIGURE.get(key, key): value for key, value in figures.items()}
    values = {**systems[name], **figures, **other_names}
    return {
        re.sub(r"\W+", "_", key.lower().removesuffix(", mean")): value
        for key, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def spread(values: Sequence[float]) -> Any:
    """Returns mean, lowest and highest of several seeds, or the single value."""
    if len(values) == 1:
        return round(values[0], 6) if isinstance(values[0], float) else values[0]
    summary = Range(math.fsum(values) / len(values), min(values), max(values))
    return {name: round(value, 6) for name, value in zip(("mean", "lowest", "highest"), summary)}


def measured(args: argparse.Namespace, by_name: Mapping[str, Table]) -> Record:
    """Returns the row that ``args`` names with new numbers, of today and this machine."""
    if len(args.add) < 4 or len(args.seeds or [0]) != len(args.add) - 3:
        raise ValueError("--add: give TABLE SYSTEM NAME and a FILE for each seed")
    table, system, name, *files = args.add
    (row,) = select(by_name, table, system)
    from common import processor  # imports torch

    seeds = [metrics(path, name) for path in files]
    columns = [column["metric"] for column in by_name[table].head["columns"]]
    left_out = ("processor_hours", "commit")  # of the earlier measurement
    record = {
        **{key: value for key, value in row.items() if key not in left_out},
        "seeds": args.seeds,
        "metrics": {
            column: spread([seed[column] for seed in seeds])
            for column in columns
            if column in seeds[0]
        },
        "version": __version__,
        "date": datetime.date.today().isoformat(),
        "cpu": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "torch": metadata.version("torch"),
    }
    check(record)
    return record


# ---------------------------------------------------------------- tables


def losses(row: Record, table: Table) -> str:
    """Returns `` loses to …``: the baselines that are better in the table's deciding column."""
    judge = table.head.get("judged_by")
    if row["kind"] != "system" or judge not in row["metrics"]:
        return ""
    (best,) = (column["best"] for column in table.head["columns"] if column["metric"] == judge)
    sign = 1 if best == "highest" else -1
    value = read_metric(row["metrics"][judge]).mean
    better = [
        BASELINES[other["kind"]]
        for other in table.rows
        if other["kind"] in BASELINES
        and judge in other["metrics"]
        and sign * read_metric(other["metrics"][judge]).mean > sign * value
    ]
    return f": **loses to {', '.join(dict.fromkeys(better))}**" if better else ""


def rendered(table: Table) -> str:
    """Returns a table in Markdown, with the best of each column in bold."""
    columns = table.head["columns"]
    heads, head = [column["head"] for column in columns], table.head.get("head", "")
    origins = [origin(row) for row in table.rows]
    if is_mixed := len({*origins}) > 1:
        heads.append("measured with")
    else:
        head = f"{head} ({min(origins)})"
    lines = [[head, *heads]]
    lines.append(["---"] * len(lines[0]))
    for row, measured_with in zip(table.rows, origins, strict=True):
        cells = [cell(row, column, best_value(column, table.rows)) for column in columns]
        lines.append([row["system"] + losses(row, table), *cells, *[measured_with] * is_mixed])
    text = [f"| {' | '.join(line)} |\n" for line in lines]
    text[1] = text[1].replace(" ", "")
    return "".join(text)


def origin(row: Record) -> str:
    """Returns the version, and the commit of scripts that are gone, and the machine of a row.

    *old* says that the version is one of those before :data:`RECENT`.
    """
    machine = re.match(r"\w+ (\w+)", row["cpu"])
    commit = f" ({row['commit']})" if "commit" in row else ""
    old = "*old*, " if [*map(int, re.findall(r"\d+", row["version"])[:2])] < RECENT else ""
    return f"{old}{row['version']}{commit}, {machine[1] if machine else row['cpu']}"


def best_value(column: Record, rows: Sequence[Record]) -> float | None:
    """Returns the best of two or more values that were measured here."""
    values = [
        read_metric(row["metrics"][column["metric"]]).mean
        for row in rows
        if not isinstance(row["metrics"].get(column["metric"], ""), str)
    ]
    if "best" not in column or len(values) < 2:
        return None
    return max(values) if column["best"] == "highest" else min(values)


def cell(row: Record, column: Record, best: float | None) -> str:
    """Returns a metric as text, with its range over seeds."""
    if column["metric"] == "seeds":
        return str(len(row["seeds"]) or "")
    value = row["metrics"].get(column["metric"])
    if value is None or isinstance(value, str):
        return value or "–"
    digits, unit, metric = column.get("digits", 2), column.get("unit", ""), read_metric(value)
    mean, low, high = (f"{number:,.{digits}f}{unit}" for number in metric)
    if metric.mean == best:
        mean = f"**{mean}**"
    return f"{mean} ({low} … {high})" if isinstance(value, dict) else mean


# ---------------------------------------------------------------- the command


def documents(root: Path, by_name: Mapping[str, Table]) -> dict[Path, str]:
    """Returns each document and chart as it has to be; ValueError if a table has no page."""
    pages, shown = {}, set()
    for path in [*sorted(root.glob("*.md")), *sorted(root.glob("benchmarks/**/*.md"))]:
        page = path.read_text(encoding="utf-8")
        names = {match[2] for match in BLOCK.finditer(page)}
        if unknown := names - by_name.keys():
            raise ValueError(f"{path.name}: {LIST} has no table {', '.join(unknown)}")
        shown |= names
        pages[path] = BLOCK.sub(lambda match: match[1] + rendered(by_name[match[2]]), page)
    if lacking := by_name.keys() - shown:
        raise ValueError(f"no document shows {', '.join(sorted(lacking))}")
    for name, chart in CHARTS.items():
        if chart.table in by_name:
            pages[root / FIGURES / f"{name}.svg"] = drawn(chart, by_name[chart.table].rows)
    return pages


def run(args: argparse.Namespace) -> None:
    """Updates a row if asked, and writes what differs; with ``--check`` only names it."""
    records = read(args.root / LIST)
    if args.add:
        row = measured(args, tables(records))
        key = row["table"], row["system"]
        records = [
            row if (record["table"], record.get("system")) == key else record for record in records
        ]
    pages = documents(args.root, tables(records))
    changed = {
        path: page
        for path, page in pages.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != page
    }
    if args.check and changed:
        names = ", ".join(str(path.relative_to(args.root)) for path in changed)
        raise ValueError(f"{names}: not as {LIST} says: python benchmarks/results.py")
    if args.add:
        write(args.root / LIST, records)
    for path, page in changed.items():
        path.write_text(page, encoding="utf-8")
        print(f"written: {path.relative_to(args.root)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the script; returns 1 after an error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--check", action="store_true", help="change nothing; status 1 if needed")
    add("--commands", nargs="*", metavar="NAME", help="of a table, or a row of it")
    add("--add", nargs="+", metavar="WORD", help="TABLE SYSTEM NAME FILE …: a row")
    add("--seeds", type=int, nargs="+", default=[], help="of the row")
    add("--root", type=Path, default=ROOT, help="folder to work in (default: the repository)")
    args = parser.parse_args(argv)
    try:
        if args.commands is None:
            run(args)
        else:
            print(*commands(tables(read(args.root / LIST)), args.commands), sep="\n")
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
