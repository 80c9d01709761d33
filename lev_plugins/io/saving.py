"""Checkpoints are on the disk whole or not at all, however a training ends."""

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from ..errors import UserError

#: what a folder stands for, the first of them that is there
CHECKPOINTS = ("checkpoint_best.pt", "checkpoint_last.pt", "model.pt")


@contextlib.contextmanager
def atomic_save(path: str) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` at the end, when all of it is on the disk.

    Until then, and if anything fails, what stood there stays. A link is replaced, not followed:
    what it names may be another checkpoint.

    Raises:
        UserError: the system refuses to write it.
    """
    written = f"{path}.tmp"
    try:
        with open(written, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(written, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.remove(written)
        failure = error if isinstance(error, OSError) else error.__context__  # torch's own error
        if isinstance(failure, OSError):
            raise UserError(f"checkpoint {path} is not written ({failure.strerror})") from error
        raise
