"""What all commands do with what they write: whole files and folders, text for any terminal."""

import errno
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from ..errors import UserError
from ..errors import printable as printable
from .lines import STANDARD_STREAM


@contextmanager
def whole_file(path: str) -> Iterator[TextIO]:
    """Open ``path`` for text that appears there all at once, at the end, or not at all.

    Text is UTF-8; half of a surrogate pair becomes a ``\\uXXXX`` escape. What is no plain file (a
    pipe, ``/dev/null``, ``-`` for standard output) is written directly.

    Raises:
        UserError: the file cannot be written, or the disk is full.
    """
    if path == STANDARD_STREAM:
        yield standard_output()
        sys.stdout.flush()
        return
    target = Path(os.path.realpath(path))
    direct = target.exists() and not target.is_file()
    written = target if direct else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        stream = open(written, "w", encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
    try:
        with stream:
            yield stream
        if not direct:
            os.replace(written, target)
    except BaseException as error:
        if not direct:
            with suppress(OSError):
                os.remove(written)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(f"{path}: not written ({error.strerror}); free some space") from error
        raise


@contextmanager
def staged(destdir: str) -> Iterator[str]:
    """A folder to write into; what is there at the end of the block goes to ``destdir``.

    It lies in ``destdir``, or in the nearest folder above that exists: on the same file system.
    Files of ``destdir`` with other names stay. A UserError where the system refuses to write.
    """
    anchor = final = Path(destdir).resolve()
    while not anchor.exists():
        anchor = anchor.parent
    try:
        with tempfile.TemporaryDirectory(prefix=".preprocess-", dir=anchor) as folder:
            yield folder
            final.mkdir(parents=True, exist_ok=True)
            for path in sorted(Path(folder).iterdir()):
                path.replace(final / path.name)
    except BrokenPipeError:  # the reader of our standard output has gone: no fault of destdir
        raise
    except OSError as error:
        why = f"{error.strerror or error} ({error.filename})" if error.filename else str(error)
        raise UserError(f"--destdir {destdir}: {why}; fix that or choose another") from error


def standard_output() -> TextIO:
    """Standard output, in UTF-8 whatever the terminal is set to; a UserError if it is closed."""
    if sys.stdout is None:
        raise UserError("standard output is closed; send it to a file or to a pipe")
    # The text holds characters that a terminal set to ASCII or Latin-1 could not encode.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout


def refuse_overwriting(
    written: Mapping[str, str | None], read: Iterable[tuple[str, str | None]] = ()
) -> None:
    """Refuse files that would be written over what is read, or over each other.

    Args:
        written: flag → path; None and ``-`` are no files, a pipe or device cannot be lost.
        read: what reads, a flag or words, and its path.
    """
    taken: dict[str, str] = {}
    for what, path in (*read, *written.items()):
        if path is None or path == STANDARD_STREAM:
            continue
        if (real := os.path.realpath(path)) in taken and what in written:
            raise UserError(f"{what} would write over {taken[real]}; choose another name")
        if os.path.isfile(path) or not os.path.lexists(path):
            taken.setdefault(real, f"{what} {path}")
