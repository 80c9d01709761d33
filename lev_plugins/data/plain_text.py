"""Text files whose lines are read when they are asked for."""

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..io.text_files import count_lines


class PlainText(Sequence[str]):
    """The lines of one or more files, one after another; the files have to stay as they are.

    Lines are those of :func:`.text_files.read_lines`. Files are mapped into memory, which holds
    eight bytes a line; processes that are forked share the rest.

    Args:
        paths: files; one may be named twice.

    Raises:
        UserError: a file cannot be read or is no plain UTF-8 (:mod:`.text_files`).
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = list(paths)
        sizes = list(map(_sizes, paths))
        #: where lines end and files begin, in bytes, as if all were one file
        self._ends = np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *sizes]))
        self._files = np.cumsum([0, *map(np.sum, sizes)])
        self._maps: dict[str, mmap.mmap] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: Any) -> Any:
        """Line ``number``, from 0, without its line end."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        start, end = int(self._ends[number - 1]) if number else 0, int(self._ends[number])
        file = int(np.searchsorted(self._files, start, "right")) - 1
        path, before = self.paths[file], int(self._files[file])
        if path not in self._maps:  # opened late: an open map cannot be sent to another process
            with open(path, "rb") as opened:
                self._maps[path] = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        raw = self._maps[path][start - before : end - before]
        return raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_maps": {}}


def _sizes(path: str) -> np.ndarray:
    """Bytes of each line of a file."""
    count_lines(path)  # which reads and checks all of it
    with open(path, "rb") as file:
        return np.fromiter(map(len, file), dtype=np.int64)
