"""Lines of a sorted text, which loads in milliseconds, whatever its length."""

from collections.abc import Iterable

ENCODING = ("utf-8", "surrogatepass")


class SortedLines:
    """Finds lines by halving the text.

    Args:
        text: UTF-8; lines that are sorted by bytes.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text if text.endswith(b"\n") else text + b"\n"

    @classmethod
    def of(cls, lines: Iterable[str]) -> "SortedLines":
        """Sorts lines."""
        return cls("\n".join(sorted(lines)).encode(*ENCODING))

    def after(self, beginning: str) -> str:
        """Returns the rest of the first line that begins so; nothing where none does."""
        start = beginning.encode(*ENCODING)
        text, low, high = self.text, 0, len(self.text)
        while low < high:
            middle = (low + high) // 2
            begin = text.rfind(b"\n", low, middle) + 1 or low
            end = text.find(b"\n", middle)
            if text[begin:end] < start:
                low = end + 1
            else:
                high = begin
        end = text.find(b"\n", low)
        return text[low + len(start) : end].decode(*ENCODING) if text.startswith(start, low) else ""

    def rows(self) -> list[list[str]]:
        """Returns the parts between tabs of all lines."""
        return [line.split("\t") for line in self.text.decode(*ENCODING).split("\n") if line]
