"""Writes rows for benchmarks/results.jsonl from the JSON that an example's evaluation wrote.

    python benchmarks/write_result.py TABLE.ROW.jsonl --command "bash …" --command "bash …" \\
        --baseline FILE NAME KIND --row SYSTEM --seeds 1 2 3 --take FILE NAME --take FILE NAME …

FILE is what ``--json`` of an evaluation wrote: ``systems``, by name or as a list with names, and of
each its numbers. --take names a system in it, once for each seed of the --row before; its metrics
become those of the row, with mean, lowest and highest of several seeds. Several --row make several
rows. --baseline takes a system that was not trained. Only metrics that are columns of TABLE are
written, where the list has it. A NAME of . takes the numbers of the file itself.
"""

import argparse
import datetime
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import results
from machine import processor
from results import KINDS, Record, ResultError

WHOLE = "."  # in place of a name: the file itself has the numbers


def metrics(path: str, name: str) -> dict[str, float]:
    """The numbers of a system, by names that fit tables: ``micro-F1, tuned`` → micro_f1_tuned.

    Raises:
        ResultError: the file cannot be read or has no such system.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        systems = {name: found} if name == WHOLE else found["systems"]
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


def taken(row: Record, columns: Sequence[Record] | None) -> Record:
    """A row of a result file from the systems that were taken for it."""
    seeds, found = row.pop("seeds"), [metrics(*one) for one in row.pop("take")]
    if len(found) != max(len(seeds), 1):
        raise ResultError(f"--row {row['system']}: {len(seeds)} seeds, but {len(found)} --take")
    names = found[0] if columns is None else [one["metric"] for one in columns]
    values = {
        name: results.spread(one[name] for one in found)
        for name in names
        if all(name in one for one in found)
    }
    whole = {name for name in values if all(isinstance(one[name], int) for one in found)}
    row["metrics"] = {
        name: int(value) if name in whole and not isinstance(value, dict) else value
        for name, value in values.items()
    }
    if not values:
        raise ResultError(f"--row {row['system']}: none of its numbers is a column of the table")
    return {**row, "seeds": seeds} if row["kind"] == "system" else row


def measured_here(command: list[str], hours: float | None, note: str | None) -> Record:
    """How, when and where: today, on this machine."""
    project = (results.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "([^"]+)"', project, re.M)
    found: Record = {
        "command": command,
        "version": version[1] if version else metadata.version("lev_plugins"),
        "date": datetime.date.today().isoformat(),
        "cpu": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "torch": metadata.version("torch"),
        "processor_hours": None if hours is None else round(hours, 3),
        "note": note,
    }
    return {name: value for name, value in found.items() if value is not None}


def main(argv: Sequence[str] | None = None) -> int:
    """Read, put together, write."""
    args = _parser().parse_args(argv)
    name = args.file.name.split(".")[0]
    try:
        known = results.tables(results.read(results.ROOT / results.LIST))
        columns = known[name].head["columns"] if name in known else None
        measured = measured_here(args.command, args.hours, args.note)
        rows = [{"table": name, **taken(row, columns), **measured} for row in args.rows]
        for row in rows:
            results.check(row)
        args.file.parent.mkdir(parents=True, exist_ok=True)
        results.write(args.file, rows)
    except (ResultError, ValueError) as error:
        print(f"error: {args.file.name}: {error}", file=sys.stderr)
        return 1
    print(f"written: {args.file}")
    return 0


class _Row(argparse.Action):
    """--row and --baseline begin a row; --take and --seeds belong to the one before."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        rows = namespace.rows
        if option == "--row":
            rows.append({"system": values, "kind": "system", "seeds": [], "take": []})
        elif option == "--baseline":
            path, name, kind = values
            if kind not in KINDS:
                parser.error(f"--baseline: {kind} is none of {', '.join(KINDS)}")
            rows.append({"system": name, "kind": kind, "seeds": [], "take": [(path, name)]})
        elif not rows or rows[-1]["kind"] != "system":
            parser.error(f"{option} belongs to a --row before it")
        elif option == "--take":
            rows[-1]["take"].append(tuple(values))
        else:
            rows[-1]["seeds"] += values


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("file", type=Path, help="what is written, TABLE.ROW.jsonl")
    add("--command", action="append", required=True, help="a line that was run; in order")
    add("--row", action=_Row, dest="rows", default=[], metavar="SYSTEM", help="begins a row")
    add("--seeds", action=_Row, dest="rows", nargs="+", type=int, help="of the row")
    add("--take", action=_Row, dest="rows", nargs=2, metavar=("FILE", "NAME"), help="one a seed")
    add(
        "--baseline",
        action=_Row,
        dest="rows",
        nargs=3,
        metavar=("FILE", "NAME", "KIND"),
        help=f"a system that was not trained; KIND is one of {', '.join(KINDS)}",
    )
    add("--hours", type=float, help="of a processor, for all of it")
    add("--note", help="what a reader has to know besides")
    return parser


if __name__ == "__main__":
    sys.exit(main())
