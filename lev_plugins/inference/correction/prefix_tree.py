"""Which token may come next, so that a beam search writes nothing but given words."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from torch import Tensor

Prefix = tuple[int, ...]
#: Prefixes whose next tokens are kept in memory.
MOST_KEPT = 100_000


class PrefixTree:
    """Words as token ids; a ``prefix_allowed_tokens_fn`` of fairseq's beam search.

    Args:
        words: token ids of each, without </s>.
        eos: id of </s>.
    """

    def __init__(self, words: Iterable[Prefix], eos: int) -> None:
        self.words, self.eos = sorted(set(words)), eos
        self.longest = max(map(len, self.words), default=0)
        self._next: dict[Prefix, list[int]] = {}

    def __call__(self, sentence: int, written: Tensor) -> list[int]:
        """Ids that may follow; none where ``written``, <s> at its front, begins no word."""
        prefix = tuple(written[1:].tolist())
        if prefix not in self._next:
            if len(self._next) >= MOST_KEPT:
                self._next.clear()
            self._next[prefix] = list(self._after(prefix))
        return self._next[prefix]

    def _after(self, prefix: Prefix) -> Iterator[int]:
        words, size = self.words, len(prefix)
        place = bisect_left(words, prefix)
        if place < len(words) and words[place] == prefix:
            yield self.eos
            place += 1
        while place < len(words) and words[place][:size] == prefix:
            token = words[place][size]
            yield token
            place = bisect_left(words, (*prefix, token + 1), place)
