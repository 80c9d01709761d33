"""Input lines of ``fairseq-interactive``, as they were typed."""

import importlib
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..io.lines import decode, raw_lines
from ..io.program import running_command
from .logs import untouched_root_logger


def _lines(source: str) -> Iterator[str]:
    """Lines without their ends, spaces at the ends of tab separated fields removed."""
    name = "standard input" if source == "-" else source
    for number, raw in enumerate(raw_lines(source), start=1):
        line = decode(name, number, raw)
        line = line.removeprefix("\ufeff") if number == 1 else line  # a byte order mark is no text
        yield "\t".join(field.strip() for field in line.split("\t"))


def read_interactive_lines(input: str, buffer_size: int) -> Iterator[list[str]]:
    """Stands in for ``fairseq_cli.interactive.buffered_read``.

    Fault: fairseq strips every line, so a tab at either end (an empty source, an empty draft) is
    lost; it also ends a line at a lone carriage return and reads in the locale's encoding.

    Args:
        input: a file, or ``-`` for standard input (fairseq's name for this argument).
        buffer_size: lines in a buffer; the last one may be shorter.

    Raises:
        UserError: a line is not UTF-8.
    """
    lines = _lines(input)
    while buffer := list(islice(lines, buffer_size)):
        yield buffer


def patch_interactive_reader() -> None:
    """Puts :func:`read_interactive_lines` in the place of fairseq's reader.

    ``main()`` looks the name up when it runs, so it is enough to do this before: in the module,
    and in ``__main__`` where ``python -m fairseq_cli.interactive`` runs a second copy of it.
    """
    with untouched_root_logger():  # the module sets up logging when it is imported
        modules: list[Any] = [importlib.import_module("fairseq_cli.interactive")]
    if running_command() == "interactive":
        modules.append(sys.modules["__main__"])
    for module in modules:
        module.buffered_read = read_interactive_lines
