"""The results: one list, benchmarks/results.jsonl, and the tables that are written from it.

    python benchmarks/results.py                    # writes the tables of RESULTS.md and the notes
    python benchmarks/results.py --check            # says which tables are not as the list says
    python benchmarks/results.py --add TABLE SYSTEM NAME FILE …   # takes in what a row measured now
    python benchmarks/results.py --commands [TABLE [SYSTEM]]     # that measured it; what there is

A line of the list is the head of a table or a row of it (benchmarks/README.md says what the fields
mean). A table stands below the line ``<!-- table: NAME -->`` of a document.

``--add``: FILE is what an evaluation wrote, one for each seed (--seeds 1 2 3): ``systems``, by name
or as a list with names, and of each its numbers. NAME is the system's there, and . takes the
numbers of the file itself. Only metrics that are columns of TABLE are taken. The row is in the
list already, with its commands; for a new one copy another's line and change what differs.
"""

import argparse
import datetime
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = Path("benchmarks", "results.jsonl")
BLOCK = re.compile(r"^(<!-- table: ([\w-]+) -->\n)((?:\|.*\n)*)", re.M)
Record = dict[str, Any]

#: Kinds of rows that need no training of ours; below the baselines a system must not fall.
BASELINES = {
    "no-edit": "the no-edit baseline",
    "look-up": "the look-up",
    "dictionary": "the dictionary",
    "majority": "the most frequent class",
    "linear": "the linear model",
}
KINDS = (*BASELINES, "published", "system")
MEASURED = ("command", "version", "date", "cpu", "cores", "torch")


@dataclass
class Table:
    """A table's head and its rows, baselines first."""

    head: Record
    rows: list[Record] = field(default_factory=list)


def number(value: Any) -> float:
    """The figure itself, or the mean or median of several."""
    if isinstance(value, Mapping):
        return float(value["mean"] if "mean" in value else value["median"])
    return float(value)


# ---------------------------------------------------------------- the list


def read(path: Path) -> list[Record]:
    """The lines of a list, each as it has to be.

    Raises:
        ValueError: one that is not.
    """
    found = []
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            found.append(json.loads(line))
            if "columns" not in found[-1]:
                check(found[-1])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path.name}, line {place}: {error}") from error
    return found


def check(record: Record) -> None:
    """Raises ValueError for a row that says too little or too much."""
    if record["kind"] not in KINDS:
        raise ValueError(f"kind {record['kind']!r}; there are {', '.join(KINDS)}")
    needed = ("source",) if record["kind"] == "published" else MEASURED
    if missing := [name for name in (*needed, "metrics") if not record.get(name)]:
        raise ValueError(f"{record['system']!r} has no {', '.join(missing)}")
    for name, value in record["metrics"].items():
        if isinstance(value, dict):
            if not value["lowest"] <= number(value) <= value["highest"]:
                raise ValueError(f"{name}: {value} is not between its lowest and highest")
        elif isinstance(value, float):
            if not math.isfinite(value) or len(record.get("seeds", ())) > 1:
                raise ValueError(f"{name}: {value} of these seeds; give mean, lowest and highest")


def tables(records: Iterable[Record]) -> dict[str, Table]:
    """Heads and rows by the table's name.

    Raises:
        ValueError: a row of a table without head, or two rows of one system.
    """
    found: dict[str, Table] = {}
    for record in records:
        name = record["table"]
        if "columns" in record:
            found[name] = Table(record)
        elif name not in found:
            raise ValueError(f"{record['system']!r}: no table {name} before it")
        elif any(row["system"] == record["system"] for row in found[name].rows):
            raise ValueError(f"{name} has a row {record['system']!r} already")
        else:
            found[name].rows.append(record)
    for table in found.values():
        table.rows.sort(key=lambda row: row["kind"] not in BASELINES)
    return found


def write(path: Path, records: Iterable[Record]) -> None:
    """Writes a list, without spaces between fields."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    lines = [encode(record) + "\n" for record in records]
    path.write_text("".join(lines), encoding="utf-8")


def chosen(found: Mapping[str, Table], name: str, system: str | None = None) -> list[Record]:
    """The rows of a table, or the one of a system.

    Raises:
        ValueError: there is no such table or row.
    """
    if name not in found:
        raise ValueError(f"no table {name}; there are {', '.join(found)}")
    rows = [row for row in found[name].rows if system in (None, row["system"])]
    if not rows:
        raise ValueError(f"{name} has no row {system!r}")
    return rows


def commands(found: Mapping[str, Table], names: Sequence[str]) -> list[str]:
    """The commands of a table's rows, each once and in order; without names what there is."""
    if names:
        lines = (line for row in chosen(found, *names[:2]) for line in row.get("command", ()))
        return list(dict.fromkeys(lines))
    rows = ((name, row) for name, table in found.items() for row in table.rows)
    return [f"{name}\t{row['system']}" for name, row in rows if row["kind"] != "published"]


# ---------------------------------------------------------------- a row from evaluations


def metrics(path: str, name: str) -> dict[str, float]:
    """The numbers of a system, by names that fit tables: ``micro-F1, tuned`` → micro_f1_tuned.

    Raises:
        ValueError: the file has no such system.
    """
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    systems = {name: found} if name == "." else found["systems"]
    if isinstance(systems, list):
        systems = {one["name"]: one for one in systems}
    if name not in systems:
        raise ValueError(f"{path} has no system {name!r}; there are {', '.join(systems)}")
    return {re.sub(r"\W+", "_", key.lower()): value for key, value in _flat(systems[name])}


def _flat(found: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Numbers, those under ``scores`` too, and the mean of ``iterations``."""
    for key, value in found.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield key, value
        elif key == "scores" and value:
            yield from value.items()
        elif key == "iterations" and value:
            yield key, value["mean"]


def spread(values: Sequence[float]) -> Any:
    """A metric of several seeds: mean, lowest and highest; of one the figure itself."""
    if len(values) == 1:
        return round(values[0], 6) if isinstance(values[0], float) else values[0]
    found = {"mean": math.fsum(values) / len(values), "lowest": min(values), "highest": max(values)}
    return {name: round(value, 6) for name, value in found.items()}


def measured(args: argparse.Namespace, found: Mapping[str, Table]) -> Record:
    """The row that ``args`` names, as of today and this machine."""
    if len(args.add) < 4 or len(args.seeds or [0]) != len(args.add) - 3:
        raise ValueError("--add: give TABLE SYSTEM NAME and a FILE for each seed")
    table, system, name, *files = args.add
    (row,) = chosen(found, table, system)
    from common import processor  # imports torch

    seeds = [metrics(path, name) for path in files]
    columns = [one["metric"] for one in found[table].head["columns"]]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    made = {
        **row,
        "seeds": args.seeds,
        "metrics": {
            one: spread([seed[one] for seed in seeds]) for one in columns if one in seeds[0]
        },
        "version": re.findall(r'^version = "([^"]+)"', project, re.M)[0],
        "date": datetime.date.today().isoformat(),
        "cpu": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "torch": metadata.version("torch"),
    }
    made.pop("processor_hours", None)
    check(made)
    return made


# ---------------------------------------------------------------- the tables


def losses(row: Record, table: Table) -> list[str]:
    """The kinds of baselines that a system is worse than, by the table's deciding column."""
    judge = table.head.get("judged_by")
    column = next((one for one in table.head["columns"] if one["metric"] == judge), None)
    if column is None or row["kind"] != "system" or judge not in row["metrics"]:
        return []
    sign = 1 if column["best"] == "highest" else -1
    mine = sign * number(row["metrics"][judge])
    others = [one for one in table.rows if one["kind"] in BASELINES and judge in one["metrics"]]
    found = {one["kind"] for one in others if sign * number(one["metrics"][judge]) > mine}
    return [kind for kind in BASELINES if kind in found]


def rendered(table: Table) -> str:
    """A table in Markdown, with the best of each column in bold."""
    columns = table.head["columns"]
    best = [_best(column, table.rows) for column in columns]
    lines = [[table.head.get("head", ""), *(one["head"] for one in columns)]]
    for row in table.rows:
        lost = " and ".join(BASELINES[kind] for kind in losses(row, table))
        name = f"{row['system']}: **loses to {lost}**" if lost else row["system"]
        lines.append([name, *(_cell(row, *both) for both in zip(columns, best, strict=True))])
    first, *others = (f"| {' | '.join(line)} |\n" for line in lines)
    return "".join([first, "|" + "---|" * len(lines[0]) + "\n", *others])


def _best(column: Record, rows: Sequence[Record]) -> float | None:
    """The best figure of what was measured here."""
    ours = [row["metrics"] for row in rows if row["kind"] != "published"]
    values = [metrics.get(column["metric"], "") for metrics in ours]
    found = [number(value) for value in values if not isinstance(value, str)]
    if "best" not in column or len(found) < 2:
        return None
    return (max if column["best"] == "highest" else min)(found)


def _cell(row: Record, column: Record, best: float | None) -> str:
    metric = column["metric"]
    if metric == "seeds":
        return str(len(row["seeds"]) or "")
    value = row["metrics"].get(metric)
    if value is None or isinstance(value, str):
        return value or "–"

    def written(figure: float) -> str:
        return f"{figure:,.{column.get('digits', 2)}f}{column.get('unit', '')}"

    text = written(number(value))
    if best is not None and row["kind"] != "published" and number(value) == best:
        text = f"**{text}**"
    if isinstance(value, dict):
        text += f" ({written(value['lowest'])} … {written(value['highest'])})"
    return text


def run(args: argparse.Namespace) -> None:
    """Take a row in, write the tables; with ``--check`` say alone what would change.

    Raises:
        ValueError: the list or a document is not as it has to be.
    """
    records = read(args.root / LIST)
    if args.add:
        row = measured(args, tables(records))
        place = row["table"], row["system"]
        records = [row if (one["table"], one.get("system")) == place else one for one in records]
    found, shown, changed = tables(records), set(), {}
    for path in [*sorted(args.root.glob("*.md")), *sorted(args.root.glob("benchmarks/**/*.md"))]:
        text = path.read_text(encoding="utf-8")
        names = {match[2] for match in BLOCK.finditer(text)}
        if unknown := names - found.keys():
            raise ValueError(f"{path.name}: {LIST} has no table {', '.join(unknown)}")
        shown |= names
        new = BLOCK.sub(lambda match: match[1] + rendered(found[match[2]]), text)
        if new != text:
            changed[path] = new
    if lacking := found.keys() - shown:
        raise ValueError(f"no document shows {', '.join(sorted(lacking))}")
    if args.check and changed:
        names = ", ".join(str(path.relative_to(args.root)) for path in changed)
        raise ValueError(f"{names}: not as {LIST} says: python benchmarks/results.py")
    if args.add:
        write(args.root / LIST, records)
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
        print(f"written: {path.relative_to(args.root)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script; 1 where something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--check", action="store_true", help="change nothing; status 1 if needed")
    add("--commands", nargs="*", metavar="NAME", help="of a table, or a row of it")
    add("--add", nargs="+", metavar="WORD", help="TABLE SYSTEM NAME FILE …: a row")
    add("--seeds", type=int, nargs="+", default=[], help="of the row")
    add("--root", type=Path, default=ROOT, help="the repository's folder")
    args = parser.parse_args(argv)
    try:
        if args.commands is not None:
            print(*commands(tables(read(args.root / LIST)), args.commands), sep="\n")
        else:
            run(args)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
