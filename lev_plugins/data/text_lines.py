"""The lines of a text, read from its file when they are asked for."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import open_text

from ..io.line_index import blocks_of_lines, line_index


class TextLines(Sequence[str]):
    r"""Lines of a UTF-8 file without ``\n`` and ``\r\n``; nothing of it is held in memory.

    Processes that are forked share the open file; one that is sent a copy opens it again.

    Raises:
        UserError: what :func:`..io.text_files.read_lines` refuses; later, the text was changed.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._open()

    def _open(self) -> None:
        self._file = open_text(self.path)
        self.places = line_index(self.path, self._file)
        self._size = os.fstat(self._file.fileno()).st_size

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "size": self._size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        self._open()
        if self._size != state["size"]:
            raise UserError(f"{self.path} changed while being read; start again")

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...

    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        place = range(len(self))[number]
        return self._line(place).decode("utf-8")

    def _line(self, number: int) -> bytes:
        """A line, read with the ends of the one before it and of itself: they have to be there."""
        starts = self.places["start"]
        last = number + 1 == len(self)
        end = self._size if last else int(starts[number + 1])
        start = int(starts[number])
        before = min(start, 1)
        size = end - start + before
        read = os.pread(self._file.fileno(), size, start - before)
        line = read[before:].removesuffix(b"\n")
        ended = last or read.endswith(b"\n")
        begins = len(read) == size and read[:before] in (b"", b"\n")
        if not (begins and ended) or b"\n" in line:
            raise UserError(f"{self.path} changed while being read; start again")
        return line.removesuffix(b"\r")

    def blocks(self) -> Iterator[bytes]:
        """The whole text, some lines at a time, with their ends."""
        return blocks_of_lines(self._file)


def parallel_lines(paths: Sequence[str]) -> list[TextLines]:
    """The lines of files that belong together.

    Raises:
        UserError: as :class:`TextLines`; a file has more lines than another.
    """
    texts = [TextLines(path) for path in paths]
    if len({len(text) for text in texts}) > 1:
        counts = ", ".join(f"{text.path} has {len(text)}" for text in texts)
        raise UserError(f"line counts differ: {counts}; line n of each file must belong together")
    return texts
