"""What all commands do with what they write: whole files, and text that any terminal can show."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TextIO

from ..errors import UserError
from ..errors import printable as printable

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def replacing(file: IO, target: str | Path, durable: bool = False) -> Iterator[None]:
    """An open file takes the place of ``target`` at the end; it goes where anything fails.

    Args:
        file: in the folder of ``target``, for a rename cannot cross file systems; or ``target``
            itself, which is then written directly.
        durable: all of it is on the disk before it gets its name.
    """
    direct = str(file.name) == str(target)
    try:
        with file:
            yield
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if not direct:
            os.replace(file.name, target)
    except BaseException:
        if not direct:
            with suppress(OSError):
                os.remove(file.name)
        raise


@contextmanager
def whole_file(path: str) -> Iterator[TextIO]:
    """Open ``path`` for text that appears there all at once, at the end, or not at all.

    Text is UTF-8; half of a surrogate pair becomes a ``\\uXXXX`` escape. Something that is no
    plain file (a pipe, ``/dev/null``) is written directly.

    Raises:
        UserError: the file cannot be written, or the disk is full.
    """
    target = Path(os.path.realpath(path))
    direct = target.exists() and not target.is_file()
    written = target if direct else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        stream = open(written, "w", encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
    try:
        with replacing(stream, target):
            yield stream
    except OSError as error:
        if error.errno in _FULL:
            raise UserError(f"{path}: not written ({error.strerror}); free some space") from error
        raise


@contextmanager
def report_file(path: str) -> Iterator[TextIO]:
    """:func:`whole_file`, or standard output for ``-``."""
    if path != "-":
        with whole_file(path) as stream:
            yield stream
        return
    stream = standard_output()
    yield stream
    stream.flush()


def standard_output() -> TextIO:
    """Standard output, in UTF-8 whatever the terminal is set to.

    Raises:
        UserError: it is closed.
    """
    if sys.stdout is None:
        raise UserError("standard output is closed; send it to a file or to a pipe")
    # The text holds characters that a terminal set to ASCII or Latin-1 could not encode.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout
