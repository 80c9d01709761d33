"""Which token may come next, so that a beam search writes nothing but given words."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import torch
from fairseq.data import Dictionary
from fairseq.search import PrefixConstrainedBeamSearch
from torch import Tensor

#: Prefixes whose next tokens are kept in memory.
MOST_KEPT = 100_000


class PrefixTree:
    """Words as token ids without </s>."""

    def __init__(self, words: Iterable[Sequence[int]], eos: int) -> None:
        # a character for each id: strings are sorted faster than tuples
        self.words, self.eos = sorted({_text(word) for word in words}), eos
        self.longest = max(map(len, self.words), default=0)
        self._next: dict[str, list[int]] = {}

    def __call__(self, written: Sequence[int]) -> list[int]:
        """Ids that may follow; none where ``written`` begins no word."""
        prefix = _text(written)
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


class TreeSearch(PrefixConstrainedBeamSearch):
    """fairseq's search with prefixes, whose next tokens all hypotheses are given at once."""

    def __init__(self, dictionary: Dictionary, tree: PrefixTree) -> None:
        super().__init__(dictionary, tree)

    def apply_mask(self, x: Tensor, written: Tensor, sentences: Tensor) -> Tensor:
        """R × 1 × V like ``x``: 0 for what may follow ``written`` (R × T, </s> at its front), −∞.

        ``sentences`` says which each row is of; here the same may follow in any of them.
        """
        allowed = [self.prefix_allowed_tokens_fn(row) for row in written[:, 1:].tolist()]
        rows = [row for row, some in enumerate(allowed) for _ in some]
        columns = [token for some in allowed for token in some]
        mask = torch.full_like(x, -math.inf)
        mask[torch.tensor(rows, device=x.device, dtype=torch.long), 0,
             torch.tensor(columns, device=x.device, dtype=torch.long)] = 0  # fmt: skip
        return mask


def _text(numbers: Iterable[int]) -> str:
    return "".join(map(chr, numbers))
