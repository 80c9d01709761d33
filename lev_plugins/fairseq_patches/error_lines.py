"""Fault: a user's mistake, and Ctrl-C, end fairseq's commands in a traceback."""

import os
import sys
from types import TracebackType

from lev_runtime.io.commands import INTERRUPTED, discard_stdout, print_error

from ..io.program import running_command


def one_line_errors() -> None:
    """Shows a user's mistake in a fairseq command as ``error: …``, and all else as before.

    Ctrl-C ends it with status 130, without a word: trainings have said theirs (:mod:`.signals`).
    """
    if running_command() is None:
        return
    os.environ["HYDRA_FULL_ERROR"] = "1"  # it prints and exits by itself unless told to raise
    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise SystemExit(INTERRUPTED)
        if isinstance(error, BrokenPipeError):
            discard_stdout()
        elif not print_error(error):
            previous(kind, error, trace)

    sys.excepthook = hook
