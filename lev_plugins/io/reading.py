"""Files as they are read, whatever is in them."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import UserError


@contextmanager
def reading(path: str) -> Iterator[None]:
    """What opens and reads ``path`` stands in here.

    Raises:
        UserError: the system does not let it be read; the line names the file.
    """
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error


def checksum(path: str) -> str:
    """SHA-256 of a file's content, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
