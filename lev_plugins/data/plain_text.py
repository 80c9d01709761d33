"""Text files whose lines are read when they are asked for."""

import mmap
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ..io.text_files import count_lines


class TextFile:
    """One file, mapped into memory; it has to stay as it is while it is in use.

    Lines are those of :func:`.text_files.read_lines`, which raises what a file is refused for.
    Memory holds eight bytes a line; processes that are forked share the rest.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        count_lines(path)  # which reads and checks all of it
        with open(path, "rb") as file:
            #: byte offsets behind the lines' ends
            self._ends = np.fromiter(accumulate(map(len, file)), dtype=np.int64)
        self._bytes: mmap.mmap | None = None

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> str:
        if self._bytes is None:  # opened late: an open map cannot be sent to another process
            with open(self.path, "rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start = int(self._ends[number - 1]) if number else 0
        raw = self._bytes[start : int(self._ends[number])].removesuffix(b"\n")
        return raw.removesuffix(b"\r").decode("utf-8")

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_bytes": None}


class PlainText(Sequence[str]):
    """The lines of one or more files, one after another.

    Args:
        paths: files; one that is named twice is read once and stands there twice.

    Raises:
        UserError: a file cannot be read or is no plain UTF-8 (:mod:`.text_files`).
    """

    def __init__(self, paths: Sequence[str]) -> None:
        files = {path: TextFile(path) for path in dict.fromkeys(paths)}
        self.files = [files[path] for path in paths]
        self._ends = list(accumulate(len(file) for file in self.files))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, number: Any) -> Any:
        """Line ``number``, from 0, without its line end."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        place = bisect_right(self._ends, number)
        return self.files[place][number - (self._ends[place - 1] if place else 0)]
