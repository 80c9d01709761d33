"""Fault: fairseq-interactive strips every line, and answers none before its buffer is full."""

import importlib
import sys
from collections.abc import Iterator

from lev_runtime.io.lines import chunks, typed_lines

from ..io.program import program_modules
from .imports import untouched_root_logger


def read_interactive_lines(input: str, buffer_size: int) -> Iterator[list[str]]:
    """Stands in for ``fairseq_cli.interactive.buffered_read`` (``input``: a file, or ``-``).

    Spaces at the ends of a line are text in a file that is binarised, and a tab there is an empty
    source or draft. fairseq also ends a line at a lone carriage return and reads in the locale's
    encoding; what it has printed stays in a buffer of Python's.

    Returns:
        the lines as they stand, up to ``buffer_size`` at a time.
    """
    for buffer in chunks(typed_lines(input), input, buffer_size):
        yield buffer
        sys.stdout.flush()


with untouched_root_logger():  # the module sets up logging when it is imported
    importlib.import_module("fairseq_cli.interactive")
for module in program_modules("interactive"):
    vars(module)["buffered_read"] = read_interactive_lines
