"""Which of many words are near one: within two edits."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

#: Letters inserted, deleted or substituted, and neighbours exchanged, at least.
distance = OSA.distance
#: Two words within this many edits are near each other.
DISTANCE = 2
#: Sorts of letters that are told apart: 64 bits have each twice.
_SORTS = 32


class NearWords:
    """Finds the near ones of many words.

    A word has 64 bits: which of 32 sorts of letters it has, and which of them twice or more. An
    edit changes two of them at most, so that nearly all words are known to be far by their bits.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        sizes = np.array([len(word) for word in words], dtype=np.int64)
        self._order = np.argsort(sizes, kind="stable")
        self._sizes = sizes[self._order]
        self._bits: NDArray[np.uint64] | None = None  # in this order; made when first asked for

    def find(self, word: str) -> Iterator[tuple[str, int]]:
        """Words within :data:`DISTANCE` edits (:data:`distance`), and these, in no order."""
        if self._bits is None:
            self._bits = _bits([self.words[place] for place in self._order], self._sizes)
        ends = len(word) - DISTANCE, len(word) + DISTANCE + 1
        first, last = np.searchsorted(self._sizes, ends).tolist()
        other = self._bits[first:last] ^ _bits([word], np.array([len(word)]))
        places = self._order[first:last][np.bitwise_count(other) <= 2 * DISTANCE]
        candidates = [self.words[place] for place in places.tolist()]
        if candidates:
            (edits,) = process.cdist([word], candidates, scorer=distance, score_cutoff=DISTANCE)
            for place in np.flatnonzero(edits <= DISTANCE).tolist():
                yield candidates[place], int(edits[place])


def _bits(words: Sequence[str], sizes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The 64 bits of each word; ``sizes``: their lengths."""
    sorts = code_points(words).astype(np.int64) % _SORTS
    rows = np.repeat(np.arange(len(words)), sizes)
    cells = _SORTS * rows + sorts
    counts = np.bincount(cells, minlength=_SORTS * len(words))
    counts = counts.reshape(-1, _SORTS)
    met = np.concatenate([counts > 0, counts > 1], 1)
    octets = np.packbits(met, 1)
    return octets.view(np.uint64)[:, 0]


def code_points(texts: Sequence[str]) -> NDArray[np.uint64]:
    """The letters of all texts, one after the other, as numbers."""
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(joined, dtype=np.uint32).astype(np.uint64)
