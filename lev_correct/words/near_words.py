"""Which of many words are near one: within two edits."""

from collections import defaultdict
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
_SORT_BITS = np.uint64(1) << np.arange(_SORTS, dtype=np.uint64)


class NearWords:
    """Finds the near ones of many words.

    A word has 64 bits: which of 32 sorts of letters it has, and which of them twice or more. An
    edit changes two of them at most, so that nearly all words are known to be far by their bits.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._by_size: dict[int, list[str]] = defaultdict(list)
        for word in words:
            self._by_size[len(word)].append(word)
        self._bits: dict[int, NDArray[np.uint64]] = {}  # by size; made when first asked for

    def find(self, word: str) -> Iterator[tuple[str, int]]:
        """Words within :data:`DISTANCE` edits (:data:`distance`), and these, in no order."""
        candidates, bits = list[str](), _bits([word])
        for size in range(len(word) - DISTANCE, len(word) + DISTANCE + 1):
            if words := self._by_size.get(size):
                if size not in self._bits:
                    self._bits[size] = _bits(words)
                other = self._bits[size] ^ bits
                places = np.flatnonzero(np.bitwise_count(other) <= 2 * DISTANCE)
                candidates += [words[place] for place in places.tolist()]
        (edits,) = process.cdist([word], candidates, scorer=distance, score_cutoff=DISTANCE)
        for place in np.flatnonzero(edits <= DISTANCE).tolist():
            yield candidates[place], int(edits[place])


def _bits(words: Sequence[str]) -> NDArray[np.uint64]:
    """Returns those of words of one length."""
    letters = _SORT_BITS[code_points(words) % _SORTS].reshape(len(words), -1)
    once, twice = np.zeros((2, len(words)), dtype=np.uint64)
    for letter in letters.T:
        twice |= once & letter
        once |= letter
    return once | twice << np.uint64(_SORTS)
