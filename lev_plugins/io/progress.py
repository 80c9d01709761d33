"""Progress of what takes long, on a terminal: share done, time left, by tqdm."""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

from .lines import is_terminal

T = TypeVar("T")
PATIENCE = 5.0  # seconds before anything is shown


def progress(
    items: Iterable[T], unit: str, total: int | None = None, output: str | None = None
) -> Iterator[T]:
    """The items; those that are done are counted on standard error if that is a terminal.

    Args:
        unit: the plural of one. total: without it nothing is shown where the input may be typed.
        output: where they are written; nothing is shown between lines of a terminal (``-``).
    """
    shares_terminal = output == "-" and is_terminal(sys.stdout)
    typed = total is None and is_terminal(sys.stdin)
    quiet = shares_terminal or typed or not is_terminal(sys.stderr)
    yield from tqdm(items, unit=f" {unit}", total=total, delay=PATIENCE, leave=False, disable=quiet)


def lines_of(path: str) -> int | None:
    """How many lines a file has, as the total of :func:`progress`; None for what is read once."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
