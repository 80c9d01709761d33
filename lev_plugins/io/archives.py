"""Checkpoints are zip files: no record of one may be larger in memory than on the disk."""

import io
import os
import struct
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from ..errors import UserError

_FIRST, _ENTRY, _END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_END64, _LOCATOR = b"PK\6\6", b"PK\6\7"
_LARGE, _SIZES = 0xFFFFFFFF, 1  # "look among the extra fields", and the number of the field


class DamagedArchive(RuntimeError):
    """A zip file that cannot be read; torch raises a RuntimeError as well."""


def check_archive(file: str | os.PathLike[str] | BinaryIO) -> None:
    """Refuse a zip file that takes more memory than disk, before anything of it is read.

    torch stores its records plain, one behind the other. But it also reads deflated ones, of which
    a few megabytes hold gigabytes, and several entries for the same bytes. Everything about the
    list of contents that two readers could understand differently is refused as well. A file that
    torch would not take for a zip file passes.

    Args:
        file: a path, or a binary file, whose position stays.

    Raises:
        UserError: a record is compressed, or all together are larger than the file.
        DamagedArchive: the list of contents is damaged.
        OSError: the file cannot be read.
    """
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            _check(opened, os.fspath(file))
        return
    start = file.tell()
    try:
        _check(file, str(getattr(file, "name", "")))
    finally:
        file.seek(start)


def _check(file: BinaryIO, path: str) -> None:
    if file.read(len(_FIRST)) != _FIRST:
        return
    size = file.seek(0, io.SEEK_END)
    total = 0
    try:
        for name, method, length in _entries(file, size):
            if method != zipfile.ZIP_STORED:
                raise UserError(
                    f"checkpoint {path}: its record {name} is compressed, and may be of any size "
                    "in memory; if you trust it, unpack it and pack it uncompressed (zip -0)"
                )
            total += length
    except (struct.error, IndexError) as error:
        raise DamagedArchive("the list of contents is damaged") from error
    if total > size:
        raise UserError(
            f"checkpoint {path} has {size:,} bytes, and its records {total:,}; it is damaged: "
            "copy it again"
        )


def _entries(file: BinaryIO, size: int) -> Iterator[tuple[str, int, int]]:
    """Name, method of compression and full size of every record."""
    number, start, length = _place_of_list(file, size)
    file.seek(start)
    content, place = file.read(length), 0
    for _ in range(number):
        if content[place : place + 4] != _ENTRY:
            raise DamagedArchive("the list of contents is damaged")
        (method,) = struct.unpack_from("<H", content, place + 10)
        (full,) = struct.unpack_from("<L", content, place + 24)
        named, extra, comment = struct.unpack_from("<3H", content, place + 28)
        name, place = place + 46, place + 46 + named
        if full == _LARGE:
            full = _large(content[place : place + extra])
        yield content[name : name + named].decode("utf-8", "replace"), method, full
        place += extra + comment
    if place != length:
        raise DamagedArchive("the list of contents is damaged")


def _large(extra: bytes) -> int:
    """A size of 4 GiB and more, from an entry's extra fields."""
    place = 0
    while place < len(extra):
        field, length = struct.unpack_from("<2H", extra, place)
        if field == _SIZES:
            return int(struct.unpack_from("<Q", extra, place + 4)[0])
        place += 4 + length
    return _LARGE


def _place_of_list(file: BinaryIO, size: int) -> tuple[int, int, int]:
    """Number of entries, and where their list begins and how long it is: up to the end record."""
    end = size - 22
    file.seek(max(end - 76, 0))
    tail = file.read()
    if len(tail) < 22 or tail[-22:-18] != _END:
        raise DamagedArchive("no end record")
    number, length, start = struct.unpack("<10xH2LH", tail[-22:])[:3]
    if tail[-42:-38] == _LOCATOR:
        end -= 76
        (there,) = struct.unpack("<8xQ4x", tail[-42:-22])
        if there != end or tail[-98:-94] != _END64:
            raise DamagedArchive("no end record")
        number, length, start = struct.unpack("<32x3Q", tail[-98:-42])
    if start + length != end:
        raise DamagedArchive("the list of contents is not where it should be")
    return number, start, length
