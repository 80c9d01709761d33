"""Lines of a sorted text, which loads in milliseconds, whatever its length."""

from bisect import bisect_left
from functools import cached_property

ENCODING = ("utf-8", "surrogatepass")
#: Lines that are asked for before the text is cut: that takes as long as finding so many in it.
FEW = 1000


class SortedLines:
    """Finds lines by halving the text.

    Args:
        text: UTF-8; lines that are sorted by bytes.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text if text.endswith(b"\n") else text + b"\n"
        self._asked = 0

    @cached_property
    def _lines(self) -> list[bytes]:
        return [*self.text.split(b"\n")[:-1], b"\xff"]  # which no UTF-8 has

    def after(self, beginning: str) -> str:
        """Returns the rest of the first line that begins so; nothing where none does."""
        start = beginning.encode(*ENCODING)
        self._asked += 1
        lines = self._lines if self._asked > FEW else ()
        line = lines[bisect_left(lines, start)] if lines else self._found(start)
        return line[len(start) :].decode(*ENCODING) if line.startswith(start) else ""

    def _found(self, start: bytes) -> bytes:
        text = self.text

        def head(place: int) -> bytes:
            begin = text.rfind(b"\n", 0, place) + 1
            return text[begin : begin + len(start)]

        place = bisect_left(range(len(text)), start, key=head)
        return text[place : text.find(b"\n", place)]
