"""Which token may come next, so that a beam search writes nothing but given words."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from torch import Tensor

#: Prefixes whose next tokens are kept in memory.
MOST_KEPT = 100_000


class PrefixTree:
    """Words as token ids without </s>; a ``prefix_allowed_tokens_fn`` of fairseq's beam search."""

    def __init__(self, words: Iterable[Sequence[int]], eos: int) -> None:
        # a character for each id: strings are sorted faster than tuples
        self.words, self.eos = sorted({_text(word) for word in words}), eos
        self.longest = max(map(len, self.words), default=0)
        self._next: dict[str, list[int]] = {}

    def __call__(self, sentence: int, written: Tensor) -> list[int]:
        """Ids that may follow; none where ``written``, <s> at its front, begins no word."""
        prefix = _text(written[1:].tolist())
        if prefix not in self._next:
            if len(self._next) >= MOST_KEPT:
                self._next.clear()
            self._next[prefix] = list(self._after(prefix))
        return self._next[prefix]

    def _after(self, prefix: str) -> Iterator[int]:
        words, size = self.words, len(prefix)
        place = bisect_left(words, prefix)
        if place < len(words) and words[place] == prefix:
            yield self.eos
            place += 1
        while place < len(words) and words[place].startswith(prefix):
            token = ord(words[place][size])
            yield token
            place = bisect_left(words, prefix + chr(token + 1), place)


def _text(numbers: Iterable[int]) -> str:
    return "".join(map(chr, numbers))
