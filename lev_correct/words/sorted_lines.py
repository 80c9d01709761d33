"""Lines of a sorted text, which loads in milliseconds, whatever its length."""

from collections.abc import Iterable
from functools import lru_cache

ENCODING = ("utf-8", "surrogatepass")
#: Bytes at the beginning of a line by which it is sought first.
HEAD = 3


class SortedLines:
    """Finds lines by halving the text.

    Args:
        text: UTF-8; lines that are sorted by bytes.
    """

    def __init__(self, text: bytes) -> None:
        self.text = b"\n%b\n" % text.strip(b"\n")
        self._section = lru_cache(None)(self._section_of)

    @classmethod
    def of(cls, lines: Iterable[str]) -> "SortedLines":
        """Sorts lines."""
        return cls("\n".join(sorted(lines)).encode(*ENCODING))

    def after(self, beginning: str) -> str:
        """Returns the rest of the line that begins so; nothing where none does."""
        start = beginning.encode(*ENCODING)
        low, high = self._section(start[:HEAD])
        place = self.text.find(b"\n" + start, low, high)
        end = self.text.find(b"\n", place + 1)
        return self.text[place + 1 + len(start) : end].decode(*ENCODING) if place >= 0 else ""

    def _section_of(self, head: bytes) -> tuple[int, int]:
        """Returns where the lines that begin so do, with the line end before them, and end."""
        return self._place(head) - 1, self._place(head[:-1] + bytes([head[-1] + 1]))

    def _place(self, start: bytes) -> int:
        """Returns where the first line begins that does not come before some bytes."""
        text, low, high = self.text, 1, len(self.text)
        while low < high:
            middle = (low + high) // 2
            begin = text.rfind(b"\n", low, middle) + 1 or low
            end = text.find(b"\n", middle)
            if text[begin:end] < start:
                low = end + 1
            else:
                high = begin
        return low

    def rows(self) -> list[list[str]]:
        """Returns the parts between tabs of all lines."""
        return [line.split("\t") for line in self.text.decode(*ENCODING).split("\n") if line]
