"""Lines of a stream as soon as they are there, and whether another one is."""

import io
import select
from collections import deque
from typing import IO

BLOCK = 1 << 16  # bytes, most that are read at once: what a pipe holds


class PipeLines:
    r"""The lines of a binary stream, each with its end; only ``\n`` ends a line."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.lines: deque[bytes] = deque()
        self.begun = b""  # of a line whose end has not come
        self.ended = False

    def __iter__(self) -> "PipeLines":
        return self

    def __next__(self) -> bytes:
        """Waits for the next line."""
        while not (self.lines or self.ended):
            self._read()
        if self.lines:
            return self.lines.popleft()
        raise StopIteration

    def ready(self, seconds: float) -> bool:
        """Returns whether a whole line, or the end, is there before a pause of ``seconds``."""
        while not (self.lines or self.ended):
            try:
                readable, _, _ = select.select([self.file], [], [], seconds)
            except (io.UnsupportedOperation, ValueError, OSError):  # no file of the system
                return True
            if not readable:
                return False
            self._read()
        return True

    def _read(self) -> None:
        """Takes what is there, or waits until anything is."""
        block = self.file.read1(BLOCK)  # type: ignore[attr-defined]
        if not block:
            self.ended = True
            if self.begun:
                self.lines.append(self.begun)
            return
        *complete, self.begun = (self.begun + block).split(b"\n")
        self.lines.extend(line + b"\n" for line in complete)
