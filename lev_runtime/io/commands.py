"""One line for a user's mistake of the first hour, whoever noticed it; all else as it is."""

import contextlib
import errno
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from lev_runtime.errors import UserError, printable

from ..errors import require_module

_IN_WORKER = (
    f"{UserError.__module__}.{UserError.__qualname__}: "  # before the message in a traceback
)
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_DATA = re.compile(r"Dataset not found: (\S+) \((.+)\)")
INTERRUPTED = 128 + signal.SIGINT


def explain(error: BaseException) -> str | None:
    """Returns the line to print for a user's mistake, or ``None`` where a traceback says more."""
    if isinstance(error, ModuleNotFoundError):
        try:
            require_module(error.name or "")
        except UserError as missing:
            error = missing
    message = _message(error)
    return message and " ".join(message.split())


def _message(error: BaseException) -> str | None:
    text = str(error)
    if isinstance(error, UserError) or _IN_WORKER in text:
        return text.rpartition(_IN_WORKER)[2]
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename} does not exist"
    if isinstance(error, OSError) and (error.filename or error.errno in _DISK_FULL):
        return f"{error.filename or 'the output'}: {error.strerror}"
    if missing := _NO_DATA.match(text):
        flags = "--gen-subset, --train-subset, --valid-subset, languages"
        return f"no data named {missing[1]} in {missing[2]}; check {flags}"
    if text.startswith("Could not infer language pair"):
        return "the data folder does not tell the languages; give --source-lang and --target-lang"
    if isinstance(error, AssertionError) and "--" in text:  # of options, as fairseq has it
        return text
    return None


def print_error(error: BaseException) -> bool:
    """Prints the line of an error that has one, and says whether it has."""
    line = explain(error)
    if line is None:
        return False
    with contextlib.suppress(BrokenPipeError):  # nobody reads it
        sys.stdout.flush()
    print(f"error: {printable(line)}", file=sys.stderr)
    return True


def discard_stdout() -> None:
    """Discards what is still buffered for standard output, which nobody reads any more."""
    with contextlib.suppress(OSError, ValueError):  # it may be no file at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_cli(main: Callable[[], int | None]) -> NoReturn:
    """Runs a command and exits with the status that ``main`` returns, ``None`` for 0.

    The status is 1 after a user's mistake, which is printed in one line, or the error's
    ``exit_status`` if it has one. It is 130 after Ctrl-C, 143 after SIGTERM and 141 when the reader
    of standard output has gone; nothing is printed then. A closed stream is an empty one.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: SIM115
    # half a file is removed on the way out
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        status = main() or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        discard_stdout()
        status = 128 + signal.SIGPIPE
    except Exception as error:
        status = getattr(error, "exit_status", 1)
        if not print_error(error):
            if status == 1:
                raise
            sys.excepthook(type(error), error, error.__traceback__)
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(status)
