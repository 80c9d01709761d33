"""Lines of a sorted text, which loads in milliseconds, whatever its length."""

from bisect import bisect_left

ENCODING = ("utf-8", "surrogatepass")


class SortedLines:
    """Finds lines by halving the text.

    Args:
        text: UTF-8; lines that are sorted by bytes.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text if text.endswith(b"\n") else text + b"\n"

    def after(self, beginning: str) -> str:
        """Returns the rest of the first line that begins so; nothing where none does."""
        start, text = beginning.encode(*ENCODING), self.text

        def head(place: int) -> bytes:
            begin = text.rfind(b"\n", 0, place) + 1
            return text[begin : begin + len(start)]

        place = bisect_left(range(len(text)), start, key=head)
        rest = text[place + len(start) : text.find(b"\n", place)]
        return rest.decode(*ENCODING) if text.startswith(start, place) else ""
