"""Words and what is listed for them, as one text."""

from collections.abc import Iterator, Mapping


class SortedLines(Mapping[str, tuple[str, ...]]):
    """Finds words in a text by halving it, which loads in milliseconds, whatever its length.

    Args:
        text: UTF-8; on each line a word, a tab and its values, tabs between them; sorted by bytes.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text if text.endswith(b"\n") else text + b"\n"

    @classmethod
    def of(cls, values: Mapping[str, tuple[str, ...]]) -> "SortedLines":
        """The same values; neither words nor values have tabs or line ends."""
        lines = ("\t".join((word, *listed)) for word, listed in values.items())
        encoded = sorted(line.encode("utf-8", "surrogatepass") for line in lines)
        return cls(b"\n".join(encoded))

    def __getitem__(self, word: str) -> tuple[str, ...]:
        start = f"{word}\t".encode("utf-8", "surrogatepass")
        text, low, high = self.text, 0, len(self.text)
        while low < high:
            middle = (low + high) // 2
            begin = text.rfind(b"\n", low, middle) + 1 or low
            end = text.find(b"\n", middle)
            if text[begin:end] < start:
                low = end + 1
            else:
                high = begin
        if not text.startswith(start, low):
            raise KeyError(word)
        values = text[low + len(start) : text.find(b"\n", low)]
        return tuple(values.decode("utf-8", "surrogatepass").split("\t"))

    def __iter__(self) -> Iterator[str]:
        for line in self.text.decode("utf-8", "surrogatepass").split("\n"):
            if line:
                yield line.partition("\t")[0]

    def __len__(self) -> int:
        return sum(1 for _ in self)
