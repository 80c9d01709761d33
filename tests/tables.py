"""Tables of tests: .tsv files below tests/, or a few rows as text."""

import json
from pathlib import Path
from typing import Any


def table(name: str, part: str | None = None) -> list[list[str]]:
    r"""Returns the cells of each line of a .tsv below tests/, but for its heads.

    ``part``: returns the lines that begin with this cell, without it. Escapes: :func:`rows`.
    """
    text = (Path(__file__).parent / name).read_text("utf-8")
    found = rows(text.partition("\n")[2], "\t")
    return found if part is None else [cells for first, *cells in found if first == part]


def cases(name: str, part: str | None = None) -> list[list[Any]]:
    """Returns what :func:`table` does, where a cell in JSON stands for its value."""
    return [[*map(_value, cells)] for cells in table(name, part)]


def rows(text: str, parted_by: str = "|") -> list[list[str]]:
    r"""Returns the cells of each line, parted by a sign; ``\n`` and the like are escapes."""
    lines = text.strip("\n").split("\n")
    return [[_unescaped(cell.strip()) for cell in line.split(parted_by)] for line in lines]


def json_rows(text: str) -> list[Any]:
    """Returns what each line is in JSON."""
    return [*map(json.loads, text.strip().splitlines())]


def _value(cell: str) -> Any:
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def _unescaped(cell: str) -> str:
    ascii_only = cell.encode("ascii", "backslashreplace").decode()
    return ascii_only.encode("ascii").decode("unicode_escape") if "\\" in cell else cell
