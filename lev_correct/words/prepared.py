"""Lists of words in files: lines that are read one by one, and forms that load at once: arrays in a
file of numpy's (npz), and sorted lines."""

import io
import math
import os
import time
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np

from lev_runtime.errors import UserError
from lev_runtime.io.output import whole_file
from lev_runtime.io.text_files import read_lines, reading

#: the first bytes of an npz file
ZIP = b"PK\x03\x04"
#: of files that are no npz, cut short or damaged
_FAULTS = (KeyError, ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
Arrays = Mapping[str, np.ndarray]
T = TypeVar("T")
#: Names of the arrays of :func:`counts_as_arrays`.
COUNTS = ("counts", "count_places")
ENCODING = ("utf-8", "surrogatepass")
#: Seconds that a file of the user's cache is kept: 90 days.
KEPT = 90 * 24 * 3600


def parsed(path: str, parse: Callable[[str], T], form: str, empty: bool = False) -> list[T]:
    """Returns what each line of a file holds, blank lines left out.

    Raises:
        UserError: the file cannot be read, or ``parse`` raised ValueError for a line.
    """
    rows = []
    for row, line in enumerate(read_lines(path), start=1):
        if line and not line.isspace():
            try:
                rows.append(parse(line))
            except ValueError:
                raise UserError(f"{path}, line {row}: {line!r} is not {form}") from None
    if not (rows or empty):
        raise UserError(f"{path} holds no words")
    return rows


def number_of(text: str) -> float:
    """A finite number of 0 or more; ValueError for another text."""
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError
    return number


def read_arrays(path: str, names: Iterable[str]) -> Arrays | None:
    """The arrays of a prepared list; None for a file of another form.

    Raises:
        UserError: the file cannot be read, is damaged, or lacks one of the ``names``.
    """
    if not os.path.isfile(path):  # a pipe is read once
        return None
    with reading(path), open(path, "rb") as file:
        if file.read(len(ZIP)) != ZIP:
            return None
        content = ZIP + file.read()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except _FAULTS as error:
        reason = f"it has no array of {error}" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path} is not a prepared list of this kind ({reason})") from None


def write_arrays(path: str, arrays: Arrays) -> None:
    """Writes a prepared list."""
    with whole_file(path) as file:
        np.savez_compressed(file.buffer, allow_pickle=False, **dict(arrays))


def packed(words: Sequence[str]) -> np.ndarray:
    """Words without line ends as bytes."""
    return np.frombuffer("\n".join(words).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpacked(text: np.ndarray) -> list[str]:
    """The words of :func:`packed`."""
    words = text.tobytes().decode("utf-8", "surrogatepass")
    return words.split("\n") if words else []


def numbers(values: np.ndarray) -> np.ndarray:
    """Integers of 0 or more, in as few bytes as hold them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def counts_as_arrays(counts: Sequence[float]) -> Arrays:
    """Counts of which many are equal."""
    values, places = np.unique(np.array(counts, dtype=np.float64), return_inverse=True)
    return dict(zip(COUNTS, (values, numbers(places)), strict=True))


def counts_of(arrays: Arrays) -> np.ndarray:
    """The counts of :func:`counts_as_arrays`."""
    values, places = (arrays[name] for name in COUNTS)
    return values[places]


def user_cache() -> Path:
    """Returns the folder for what is kept for later runs; raises RuntimeError without a home."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    return Path(folder if os.path.isabs(folder) else "~/.cache", "lev_plugins").expanduser()


def keep(name: str, write: Callable[[BinaryIO], object]) -> None:
    """Keeps a file in the user's cache, whole and for the user alone, if that can be written; takes
    those away that were written longer than :data:`KEPT` ago."""
    with suppress(OSError, UserError, RuntimeError):
        folder = user_cache()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)  # it has words of private texts
        with whole_file(str(folder / name)) as file:
            os.chmod(file.name, 0o600)
            write(file.buffer)
        for other in folder.iterdir():
            if time.time() - other.stat().st_mtime > KEPT:
                other.unlink()


class SortedLines:
    """Finds lines by halving.

    Args:
        text: UTF-8; lines that are sorted by bytes.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text if text.endswith(b"\n") else text + b"\n"

    @cached_property
    def _begins(self) -> Sequence[int]:
        """Returns where the lines begin, and the last ends; a list of lines takes 14 MB more."""
        ends = np.flatnonzero(np.frombuffer(self.text, dtype=np.uint8) == ord("\n"))
        return np.append(0, ends + 1).astype(np.int32).data

    def after(self, beginning: str) -> str:
        """Returns the rest of the first line that begins so; nothing where none does."""
        start, text = beginning.encode(*ENCODING), self.text
        size, begins = len(start), self._begins
        last = len(begins) - 1
        place = begins[bisect_left(begins, start, 0, last, key=lambda n: text[n : n + size])]
        line = text[place : text.find(b"\n", place)]
        return line[size:].decode(*ENCODING) if line.startswith(start) else ""
