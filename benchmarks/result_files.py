"""Result files: what was measured, by which command and where. Read, checked and written here.

``benchmarks/results/TABLE.json`` holds a table's head and rows, ``TABLE.ROW.json`` further rows of
it. benchmarks/README.md ("How to add a row") says what the fields mean.
"""

import datetime
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from machine import processor

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
FILE = {"table": dict, "measured": dict, "rows": list, "note": str}
TABLE = {"task": str, "head": str, "columns": list, "judged_by": str}
COLUMN = {"metric": str, "head": str, "digits": int, "best": str, "unit": str}
ROW = {
    "system": str,
    "kind": str,
    "seeds": list,
    "metrics": dict,
    "loses_to": list,
    "measured": dict,
    "source": str,
    "note": str,
}
MEASURED = {
    "command": list,
    "version": str,
    "date": str,
    "cpu": str,
    "cores": int,
    "torch": str,
    "processor_hours": (int, float),
    "note": str,
}
NEEDED = ("command", "version", "date", "cpu", "cores", "torch")
SPREAD = {"lowest", "highest"}


class ResultError(ValueError):
    """A result file that cannot be used; one line that names it."""


class Table(NamedTuple):
    """A table's head and its rows, baselines first."""

    name: str
    head: Record
    rows: list[Record]


# ---------------------------------------------------------------- values


def number(value: Any) -> float:
    """The figure itself, or the mean or median of several."""
    if isinstance(value, Mapping):
        return float(value["mean"] if "mean" in value else value["median"])
    return float(value)


def spread(values: Iterable[float], digits: int = 6) -> Any:
    """A metric of several seeds: mean, lowest and highest; of one the figure itself."""
    found = [float(value) for value in values]
    if len(found) == 1:
        return round(found[0], digits)
    mean = math.fsum(found) / len(found)
    figures = {"mean": mean, "lowest": min(found), "highest": max(found)}
    return {name: round(value, digits) for name, value in figures.items()}


def losses(row: Record, rows: Iterable[Record], column: Record) -> list[str]:
    """The kinds of baselines that a row is worse than, by the table's deciding column."""
    metric, sign = column["metric"], 1 if column["best"] == "highest" else -1
    mine = sign * number(row["metrics"][metric])
    found = {
        one["kind"]
        for one in rows
        if one["kind"] in BASELINES
        and metric in one["metrics"]
        and sign * number(one["metrics"][metric]) > mine
    }
    return [kind for kind in BASELINES if kind in found]


def deciding(head: Record) -> Record | None:
    """The column by which a table's rows are judged."""
    return next((one for one in head["columns"] if one["metric"] == head.get("judged_by")), None)


# ---------------------------------------------------------------- reading


def read(folder: Path) -> dict[str, Table]:
    """All tables of a folder by name.

    Raises:
        ResultError: a file that is not as the schema says, rows of a table that is not there, or
            two rows that contradict each other.
    """
    paths = sorted(folder.glob("*.json"), key=lambda path: (path.stem.split("."), path.name))
    files = {path: _loaded(path) for path in paths}
    tables: dict[str, Table] = {}
    for path, file in files.items():
        name = path.stem.split(".")[0]
        if path.stem == name:
            tables[name] = Table(name, file["table"], [])
        elif name not in tables:
            raise ResultError(f"{path.name}: there is no {name}.json with the table's head")
        for row in file["rows"]:
            _add(tables[name], row, path)
    for table in tables.values():
        table.rows.sort(key=lambda row: row["kind"] not in BASELINES)
    return tables


def _add(table: Table, row: Record, path: Path) -> None:
    """Adds a row; a baseline that stands there already with the same figures once only."""
    for other in table.rows:
        if other["system"] == row["system"]:
            if row["kind"] in BASELINES and _agree(other["metrics"], row["metrics"]):
                other["metrics"] = {**row["metrics"], **other["metrics"]}
                return
            raise ResultError(f"{path.name}: {table.name} has a row {row['system']!r} already")
    table.rows.append(row)


def _agree(one: Record, other: Record) -> bool:
    """Whether two measurements of a baseline say the same, up to rounding."""
    return all(abs(number(one[key]) - number(other[key])) < 0.01 for key in one.keys() & other)


def _loaded(path: Path) -> Record:
    try:
        return checked(json.loads(path.read_text(encoding="utf-8")), path.name)
    except ValueError as error:
        if isinstance(error, ResultError):
            raise
        raise ResultError(f"{path.name}: not JSON: {error}") from error


def checked(file: Record, name: str) -> Record:
    """A file's content as the schema wants it; every row has its own ``measured`` over the file's.

    Raises:
        ResultError: it is not as the schema says.
    """
    _fields(file, FILE, name)
    whole = name.count(".") == 1
    if whole != ("table" in file):
        raise ResultError(f"{name}: 'table' stands in TABLE.json, and only there")
    if whole:
        _check_table(file["table"], name)
    rows = []
    for index, row in enumerate(file.get("rows", [])):
        place = f"{name}: row {index + 1}"
        _fields(row, ROW, place)
        measured = {**file.get("measured", {}), **row.get("measured", {})}
        rows.append({"seeds": [], **row, "measured": measured})
        _check_row(rows[-1], place)
    return {**file, "rows": rows}


def _fields(found: Any, known: Mapping[str, Any], place: str) -> None:
    """Raises an error for fields of another name or type."""
    if not isinstance(found, dict):
        raise ResultError(f"{place}: not an object with fields")
    for name, value in found.items():
        if name not in known:
            raise ResultError(f"{place}: no field {name!r}; there are {', '.join(known)}")
        if not isinstance(value, known[name]) or isinstance(value, bool):
            raise ResultError(f"{place}: {name} is {value!r}, of the wrong type")


def _check_table(head: Record, place: str) -> None:
    _fields(head, TABLE, f"{place}: table")
    for name in ("task", "columns"):
        if not head.get(name):
            raise ResultError(f"{place}: the table has no {name}")
    for column in head["columns"]:
        _fields(column, COLUMN, f"{place}: column")
        if not {"metric", "head"} <= column.keys():
            raise ResultError(f"{place}: a column needs metric and head")
        if column.get("best", "highest") not in ("highest", "lowest"):
            raise ResultError(f"{place}: best is highest or lowest, not {column['best']!r}")
    if "judged_by" in head and "best" not in (deciding(head) or {}):
        raise ResultError(f"{place}: judged_by names no column that has 'best'")


def _check_row(row: Record, place: str) -> None:
    for name in ("system", "kind", "metrics"):
        if name not in row:
            raise ResultError(f"{place}: no {name}")
    if row["kind"] not in KINDS:
        raise ResultError(f"{place}: kind is {row['kind']!r}; there are {', '.join(KINDS)}")
    seeds = row["seeds"]
    if not all(isinstance(seed, int) for seed in seeds):
        raise ResultError(f"{place}: seeds are whole numbers, not {seeds}")
    for name, value in row["metrics"].items():
        _check_value(value, len(seeds), f"{place}: {name}")
    if row["kind"] == "published":
        if not row.get("source"):
            raise ResultError(f"{place}: a published row names its source")
        return
    if row["kind"] == "system" and "loses_to" not in row:
        raise ResultError(f"{place}: no loses_to; [] where the row loses to no baseline")
    _check_measured(row["measured"], place)


def _check_value(value: Any, seeds: int, place: str) -> None:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        if isinstance(value, float) and not math.isfinite(value):
            raise ResultError(f"{place}: {value} is no figure")
        if seeds > 1 and isinstance(value, float):
            raise ResultError(f"{place}: {seeds} seeds: give mean, lowest and highest")
        return
    if isinstance(value, dict) and value.keys() in (SPREAD | {"mean"}, SPREAD | {"median"}):
        centre = number(value)
        if value["lowest"] <= centre <= value["highest"]:
            return
    raise ResultError(f"{place}: {value!r}; give a figure, or mean (median), lowest, highest")


def _check_measured(measured: Record, place: str) -> None:
    _fields(measured, MEASURED, f"{place}: measured")
    for name in NEEDED:
        if not measured.get(name):
            raise ResultError(f"{place}: measured has no {name}")
    if not all(isinstance(line, str) for line in measured["command"]):
        raise ResultError(f"{place}: command is a list of lines")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", measured["date"]):
        raise ResultError(f"{place}: date is {measured['date']!r}; write it as 2026-01-31")


def contradictions(table: Table) -> list[str]:
    """Rows whose ``loses_to`` is not what the table's figures say."""
    column = deciding(table.head)
    if column is None:
        return []
    found = []
    for row in table.rows:
        if row["kind"] != "system" or column["metric"] not in row["metrics"]:
            continue  # then what the file says stands
        wanted = losses(row, table.rows, column)
        if row["loses_to"] != wanted:
            found.append(
                f"{table.name}: {row['system']!r} has loses_to {row['loses_to']}; "
                f"by {column['metric']} it is {json.dumps(wanted)}"
            )
    return found


# ---------------------------------------------------------------- writing


def version() -> str:
    """The package's own."""
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "([^"]+)"', text, re.M)
    return found[1] if found else metadata.version("lev_plugins")


def measured_here(command: list[str], hours: float | None) -> Record:
    """``measured`` for what ran on this machine today."""
    found: Record = {
        "command": command,
        "version": version(),
        "date": datetime.date.today().isoformat(),
        "cpu": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "torch": metadata.version("torch"),
    }
    return found if hours is None else {**found, "processor_hours": round(hours, 3)}


def write(path: Path, file: Record) -> None:
    """Writes a result file, whole or not at all.

    Raises:
        ResultError: it is not as the schema says.
    """
    checked(file, path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(file, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)
