"""Tables of tests, written as text."""

import json
from typing import Any


def rows(text: str, parted_by: str = "|") -> list[list[str]]:
    r"""Returns the cells of each line, parted by a sign; ``\n`` and the like are escapes."""
    lines = text.strip("\n").split("\n")
    return [[_unescaped(cell.strip()) for cell in line.split(parted_by)] for line in lines]


def json_rows(text: str) -> list[Any]:
    """Returns what each line is in JSON."""
    return [*map(json.loads, text.strip().splitlines())]


def _unescaped(cell: str) -> str:
    ascii_only = cell.encode("ascii", "backslashreplace").decode()
    return ascii_only.encode("ascii").decode("unicode_escape") if "\\" in cell else cell
