"""A folder that appears whole or not at all."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import UserError


@contextmanager
def staged(destdir: str) -> Iterator[str]:
    """A folder to write into; what is there at the end of the block goes to ``destdir``.

    It lies in ``destdir``, or in the nearest folder above that exists: on the same file system,
    so that moving is renaming. Files of ``destdir`` with other names stay. On any exception
    ``destdir`` is left, or put back, as it was.
    """
    final = Path(destdir).resolve()
    anchor = final
    while not os.path.lexists(anchor):
        anchor = anchor.parent
    if not anchor.is_dir():
        raise UserError(f"--destdir {destdir}: {anchor} is a file; choose another folder")
    try:
        with tempfile.TemporaryDirectory(prefix=".preprocess-", dir=anchor) as temporary:
            folder, old = Path(temporary, "new"), Path(temporary, "old")
            folder.mkdir()
            old.mkdir()
            yield str(folder)
            if final.exists():
                _move_into(folder, final, old)
            else:
                final.parent.mkdir(parents=True, exist_ok=True)
                folder.rename(final)
    except BrokenPipeError:  # the reader of our standard output has gone: no fault of destdir
        raise
    except OSError as error:
        raise UserError(
            f"{error.filename or destdir}: {error.strerror or error}; {destdir} is as it was, "
            "fix that or choose another --destdir"
        ) from error


def _move_into(folder: Path, final: Path, old: Path) -> None:
    """Move the files of ``folder`` to ``final``; undo it all if one cannot be moved."""
    moved: list[str] = []
    try:
        for path in sorted(folder.iterdir()):
            target = final / path.name
            moved.append(path.name)
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "a folder is in the way", str(target))
            if target.exists():
                target.rename(old / path.name)
            path.rename(target)
    except BaseException:
        for name in reversed(moved):
            if not (folder / name).exists():
                (final / name).rename(folder / name)
            if (old / name).exists():
                (old / name).rename(final / name)
        raise
