"""Which of many words are near one: within two edits."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from lev_runtime.beam.search import code_points

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
        sizes = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        self._order = np.argsort(sizes, kind="stable")
        self._sizes = sizes[self._order]
        self._begins = (sizes.cumsum() - sizes)[self._order]
        self._bits: NDArray[np.uint64] | None = None  # in this order; made when first asked for

    def find(self, word: str) -> Iterator[tuple[str, int]]:
        """Words within :data:`DISTANCE` edits (:data:`distance`), and these, in no order."""
        if self._bits is None:
            self._bits = _bits(self.words, self._begins, self._sizes)
        size = len(word)
        first, last = np.searchsorted(self._sizes, (size - DISTANCE, size + DISTANCE + 1)).tolist()
        bits = _bits([word], np.array([0]), np.array([size]))
        other = self._bits[first:last] ^ bits
        places = self._order[first:last][np.bitwise_count(other) <= 2 * DISTANCE]
        candidates = [self.words[place] for place in places.tolist()]
        if candidates:
            (edits,) = process.cdist([word], candidates, scorer=distance, score_cutoff=DISTANCE)
            for place in np.flatnonzero(edits <= DISTANCE).tolist():
                yield candidates[place], int(edits[place])


def _bits(
    words: Sequence[str], begins: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Returns those of words, the shortest first; where they begin in their text, their lengths."""
    sorts = code_points(words) % _SORTS
    letters = np.uint64(1) << sorts.astype(np.uint64)
    once, twice = np.zeros((2, len(words)), dtype=np.uint64)
    for depth in range(int(sizes.max(initial=0))):
        longer = slice(int(np.searchsorted(sizes, depth, side="right")), None)
        letter = letters[begins[longer] + depth]
        twice[longer] |= once[longer] & letter
        once[longer] |= letter
    return once | twice << np.uint64(_SORTS)
