"""One line for a user's mistake, whoever noticed it."""

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import NoReturn

from ..errors import printable
from ..io.causes import explain
from ..io.patching import Stock, patches
from ..io.program import running_command

_TRACEBACK = "LEV_PLUGINS_TRACEBACK"
_BROKEN_PIPE_STATUS = 128 + 13  # what a shell reports for a program ended by SIGPIPE
_INTERRUPTED_STATUS = 128 + 2


def _print_error(error: BaseException, line: str) -> None:
    """``error: …`` on standard error; the traceback before it if LEV_PLUGINS_TRACEBACK=1."""
    if os.environ.get(_TRACEBACK) == "1":
        traceback.print_exception(error)
    # nobody reads it, or it is closed
    with contextlib.suppress(AttributeError, BrokenPipeError, ValueError):
        sys.stdout.flush()
    print(f"error: {printable(line)}", file=sys.stderr)


def show_usage_errors() -> None:
    """Escapes control characters of the command line in what argparse prints."""
    if hasattr(argparse.ArgumentParser.error, "__wrapped__"):
        return

    @patches(argparse.ArgumentParser, "error")
    def error(stock: Stock, self: argparse.ArgumentParser, message: str) -> None:
        """argparse's usage and message."""
        stock(self, printable(message))


def _forget_stdout() -> None:
    """Nobody reads standard output any more: what is still buffered must not be written at exit."""
    with contextlib.suppress(OSError, ValueError):  # it may be no file at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line_errors() -> None:
    """Shows a user's mistake in a fairseq command as ``error: …`` and not as a traceback.

    Fault: fairseq has no place where its commands turn an error into a message. What
    :func:`explain` does not know goes to the hook that was there before, with its traceback.
    """
    if running_command() is None:
        return
    show_usage_errors()
    os.environ["HYDRA_FULL_ERROR"] = "1"  # it prints and exits by itself unless told to raise
    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Prints one line for what is known and passes on the rest."""
        if isinstance(error, BrokenPipeError):
            _forget_stdout()
        elif (line := explain(error)) is None:
            previous(kind, error, trace)
        else:
            _print_error(error, line)

    sys.excepthook = hook


def run_cli(main: Callable[[], int | None]) -> NoReturn:
    """Run a command of ours and leave with its status.

    Args:
        main: does the work; returns the exit status, ``None`` for 0.

    Raises:
        SystemExit: always. 1 after a user's mistake, told in one line; 130 after Ctrl-C and 141
            when the reader of standard output has gone, both without a word.
    """
    show_usage_errors()
    if sys.stderr is None:  # closed: what is printed there must not land in the output
        sys.stderr = open(os.devnull, "w")
    try:
        status = main() or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        status = _INTERRUPTED_STATUS
    except BrokenPipeError:
        _forget_stdout()
        status = _BROKEN_PIPE_STATUS
    except Exception as error:
        line = explain(error)
        if line is None:
            raise
        _print_error(error, line)
        status = 1
    sys.exit(status)
