"""One line for a user's mistake of the first hour, whoever noticed it; all else as it is."""

import contextlib
import errno
import os
import re
import signal
import sys
from collections.abc import Callable
from types import TracebackType
from typing import NoReturn

from ..errors import UserError, printable
from ..io.program import running_command

_OURS = f"{UserError.__module__}.{UserError.__qualname__}: "  # in the traceback of a worker
_FULL = {errno.ENOSPC, errno.EDQUOT}
_NO_DATA = re.compile(r"Dataset not found: (\S+) \((.+)\)")


def explain(error: BaseException) -> str | None:
    """The line to print for a user's mistake, or ``None`` where a traceback says more."""
    text, line = str(error), None
    if isinstance(error, UserError) or _OURS in text:
        line = text.rpartition(_OURS)[2]
    elif isinstance(error, FileNotFoundError) and error.filename:
        line = f"{error.filename} does not exist"
    elif isinstance(error, OSError) and (error.filename or error.errno in _FULL):
        line = f"{error.filename or 'the output'}: {error.strerror}"
    elif missing := _NO_DATA.match(text):
        flags = "--gen-subset, --train-subset, --valid-subset, languages"
        line = f"no data named {missing[1]} in {missing[2]}; check {flags}"
    elif text.startswith("Could not infer language pair"):
        line = "the data folder does not tell the languages; give --source-lang and --target-lang"
    elif isinstance(error, AssertionError) and "--" in text:  # of options, as fairseq has it
        line = text
    return line and " ".join(line.split())


def _told(error: BaseException) -> bool:
    """Whether an error could be told in one line, which it was then."""
    if (line := explain(error)) is None:
        return False
    with contextlib.suppress(BrokenPipeError):  # nobody reads it
        sys.stdout.flush()
    print(f"error: {printable(line)}", file=sys.stderr)
    return True


def _forget_stdout() -> None:
    """Nobody reads standard output any more: what is still buffered must not be written at exit."""
    with contextlib.suppress(OSError, ValueError):  # it may be no file at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
            raise SystemExit(128 + signal.SIGINT)
        if isinstance(error, BrokenPipeError):
            _forget_stdout()
        elif not _told(error):
            previous(kind, error, trace)

    sys.excepthook = hook


def run_cli(main: Callable[[], int | None]) -> NoReturn:
    """Run a command of ours and leave with the status that ``main`` returns, ``None`` for 0.

    1 after a user's mistake, told in one line; 130 after Ctrl-C, 143 after SIGTERM and 141 when the
    reader of standard output has gone, all without a word. A stream that is closed is an empty one.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: SIM115
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + 15))  # half a file goes
    try:
        status = main() or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = 128 + 2
    except BrokenPipeError:
        _forget_stdout()
        status = 128 + 13
    except Exception as error:
        if not _told(error):
            raise
        status = 1
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(status)
