"""Writes whole files and folders, and text for any terminal."""

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from lev_runtime.errors import UserError
from lev_runtime.errors import printable as printable

from .lines import STANDARD_STREAM

#: Seconds in which a program writes that has just opened a file: without them 1,088 of 11,429 lines
#: of a writer in a loop were lost while the file was replaced 2,998 times, with 0.003 2 of 15,378.
LATE = 0.005


@contextmanager
def atomic_replace(path: str | Path, written: str | Path) -> Iterator[str | Path]:
    """Renames ``written`` to ``path`` at the end of the block, or removes it after an error.

    Raises:
        UserError: the file cannot be written, or the disk is full.
    """
    try:
        yield written
        os.replace(written, path)
    except BaseException as error:
        with suppress(OSError):
            os.remove(written)
        failure = error.__context__ if isinstance(error, RuntimeError) else error  # torch's own
        if isinstance(failure, OSError) and failure.filename in (None, str(written)):
            if isinstance(failure, BrokenPipeError):  # the reader of our standard output has gone
                raise
            raise UserError(f"{path}: not written ({failure.strerror})") from None
        raise


@contextmanager
def whole_file(path: str) -> Iterator[TextIO]:
    r"""Opens ``path`` for text that appears there all at once, at the end, or not at all.

    Text is UTF-8; half of a surrogate pair becomes a ``\uXXXX`` escape. What is no plain file (a
    pipe, ``/dev/null``, ``-`` for standard output) is written directly. A file that is there keeps
    its mode, owner and extended attributes. Errors of :func:`atomic_replace`.
    """
    target = Path(os.path.realpath(path))
    how: Any = {"encoding": "utf-8", "errors": "backslashreplace", "newline": "\n"}
    if path == STANDARD_STREAM:
        yield standard_output()
        sys.stdout.flush()
    elif target.exists() and not target.is_file():
        with open(target, "w", **how) as stream:
            yield stream
    else:
        with (
            atomic_replace(target, _partial(target)) as written,
            open(written, "w", **how) as stream,
        ):
            if target.exists():
                _take_attributes(Path(written), target)
            yield stream


def rewrite_file(path: str | Path, before: bytes, after: bytes) -> None:
    """Gives a file another content, whole or not at all, if it still has the one that was read.

    Its mode, owner, extended attributes and hard links stay.

    Args:
        before: all that was read of it.

    Raises:
        UserError: it has changed since then, so it was left; or it cannot be written.
    """
    target = Path(os.path.realpath(path))
    written = _partial(target)
    try:
        with open(target, "rb") as old, open(written, "wb") as file:
            is_alike = _take_attributes(written, target)
            file.write(after)
            file.flush()
            now = old.read()
            if now == after:  # by another name of it
                return
            is_same = now == before
            if is_same and is_alike and os.fstat(old.fileno()).st_nlink == 1:
                os.replace(written, target)
                is_same = _keep_late_writes(old, before, target)
            elif is_same:
                _overwrite(target, before, after)
        if not is_same:
            raise UserError(f"{path} has changed meanwhile, so it stays: run the command again")
    except OSError as error:
        raise UserError(f"{path}: not written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):
            os.remove(written)


def _keep_late_writes(old: BinaryIO, before: bytes, target: Path) -> bool:
    """Puts into a file what a program wrote meanwhile into the one that it took the place of.

    What was appended is appended, else all of it; returns whether the new content is there, too.
    """
    time.sleep(LATE)
    old.seek(0)
    now = old.read()
    is_kept = now.startswith(before)
    if now != before:
        with open(target, "ab" if is_kept else "wb") as file:
            file.write(now.removeprefix(before))
    return is_kept


def _partial(target: Path) -> Path:
    """Returns where a file is written before it takes the place of another."""
    return target.with_name(f".{target.name[-40:]}.{os.getpid()}.part")


def _take_attributes(new: Path, old: Path) -> bool:
    """Gives a file that is still empty the mode, owner and extended attributes of another one.

    Returns whether the system lets it have that owner.
    """
    status, is_alike = old.stat(), True
    if hasattr(os, "chown"):  # Windows has none
        try:
            os.chown(new, status.st_uid, status.st_gid)
        except PermissionError:
            is_alike = False
    shutil.copystat(old, new)
    return is_alike


def _overwrite(target: Path, before: bytes, after: bytes) -> None:
    """Writes into the file itself; after an error it has the old content again."""
    with open(target, "r+b") as file:
        try:
            file.write(after)
            file.truncate()
        except BaseException:
            file.seek(0)
            file.write(before)
            file.truncate()
            raise


@contextmanager
def staging_directory(destdir: str) -> Iterator[str]:
    """Makes a folder to write into; what is there at the end of the block goes to ``destdir``.

    It lies in ``destdir``, or in the nearest folder above that exists: on the same file system.
    Files of ``destdir`` with other names stay. A UserError where the system refuses to write.
    """
    anchor = final = Path(destdir).resolve()
    while not anchor.exists():
        anchor = anchor.parent
    import tempfile  # slow to import

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
        raise UserError(f"--destdir {destdir}: {why}; fix that or choose another") from None


def standard_output() -> TextIO:
    """Returns standard output, in UTF-8 whatever the terminal is set to."""
    # The text holds characters that a terminal set to ASCII or Latin-1 could not encode.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout


def refuse_overwriting(
    written: Mapping[str, str | None], read: Iterable[tuple[str, str | None]] = ()
) -> None:
    """Refuses files that would be written over what is read, or over each other.

    Args:
        written: flag → path; None and ``-`` are no files, a pipe or device cannot be lost.
        read: what reads, a flag or words, and its path.
    """
    taken: dict[str, str] = {}
    for what, path in (*read, *written.items()):
        if path is None or path == STANDARD_STREAM:
            continue
        if (real := os.path.realpath(path)) in taken and what in written:
            raise UserError(f"{what} would overwrite {taken[real]}; choose another name")
        if os.path.isfile(path) or not os.path.lexists(path):
            taken.setdefault(real, f"{what} {path}")
