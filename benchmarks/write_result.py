"""Writes a row for benchmarks/results.jsonl from the JSON that an evaluation wrote.

    python benchmarks/write_result.py TABLE SYSTEM NAME FILE … --command "bash …" > row.jsonl

FILE is what an evaluation wrote, one for each seed (--seeds 1 2 3): ``systems``, by name or as a
list with names, and of each its numbers. NAME is the system's there, and . takes the numbers of the
file itself. Only metrics that are columns of TABLE are written; of several seeds mean, lowest and
highest. --kind no-edit and the like is for what was not trained. Without --command the commands are
those that the row has in the list.
"""

import argparse
import datetime
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import results
from common import processor
from results import Record, ResultError


def metrics(path: str, name: str) -> dict[str, float]:
    """The numbers of a system, by names that fit tables: ``micro-F1, tuned`` → micro_f1_tuned.

    Raises:
        ResultError: the file cannot be read or has no such system.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        systems = {name: found} if name == "." else found["systems"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: not what an evaluation wrote: {error}") from error
    if isinstance(systems, list):
        systems = {one["name"]: one for one in systems}
    if name not in systems:
        raise ResultError(f"{path} has no system {name!r}; there are {', '.join(systems)}")
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


def row_of(args: argparse.Namespace) -> Record:
    """The row, as of today and this machine."""
    tables = results.tables(results.read(results.ROOT / results.LIST))
    if args.table not in tables:
        raise ResultError(f"no table {args.table}; there are {', '.join(tables)}")
    if len(args.seeds or [0]) != len(args.files):
        raise ResultError(f"{len(args.seeds)} seeds, but {len(args.files)} files")
    found = [metrics(path, args.name) for path in args.files]
    columns = [one["metric"] for one in tables[args.table].head["columns"]]
    names = [name for name in columns if name in found[0]]
    if not names:
        raise ResultError(f"none of the numbers is a column of {args.table}")
    project = (results.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "([^"]+)"', project, re.M)
    made: Record = {
        "table": args.table,
        "system": args.system,
        "kind": args.kind,
        "seeds": args.seeds,
        "metrics": {name: spread([one[name] for one in found]) for name in names},
        "command": args.command or results.commands(tables, [args.table, args.system]),
        "version": version[1] if version else metadata.version("lev_plugins"),
        "date": datetime.date.today().isoformat(),
        "cpu": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "torch": metadata.version("torch"),
        "processor_hours": args.hours,
        "note": args.note,
    }
    made = {name: value for name, value in made.items() if value is not None}
    results.check(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Read, put together, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    for name in ("table", "system", "name"):
        add(name, metavar=name.upper())
    add("files", nargs="+", metavar="FILE", help="one for each seed")
    add("--seeds", type=int, nargs="+", default=[], help="of the row")
    add("--kind", choices=results.KINDS, default="system", help="default: system")
    add("--command", action="append", help="a line that was run; in order")
    add("--hours", type=float, help="of a processor, for all of it")
    add("--note", help="what a reader has to know besides")
    try:
        print(json.dumps(row_of(parser.parse_args(argv)), ensure_ascii=False))
    except (ResultError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
