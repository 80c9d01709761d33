"""Which of many words are near one: within two edits."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, groupby

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

#: Letters inserted, deleted or substituted, and neighbours exchanged, at least.
distance = OSA.distance
#: Two words within this many edits are near each other.
DISTANCE = 2
#: So many words are compared with all others; for more, an index pays.
UNINDEXED = 30
#: Of a longer word only the beginning is indexed.
PREFIX = 7
_FACTOR = 0x9E3779B97F4A7C15


class NearWords:
    """Finds the near ones of many words.

    By symmetric deletion: two words within ``d`` edits have a common text that is left of both when
    at most ``d`` letters are deleted. Texts are kept as numbers, in 8 bytes each, and are made when
    more than :data:`UNINDEXED` words were asked for.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self._keys = np.empty(0, dtype=np.uint32)
        self._places = np.empty(0, dtype=np.int32)
        self._sizes = np.empty(0, dtype=np.int64)
        self._asked = 0

    def find(self, word: str) -> Iterator[tuple[str, int]]:
        """Words within :data:`DISTANCE` edits (:data:`distance`), and these, in no order."""
        self._asked += 1
        some = self.words if self._asked <= UNINDEXED else self._indexed(word)
        if not len(some):
            return iter(())
        (edits,) = process.cdist([word], some, scorer=distance, score_cutoff=DISTANCE)
        near = np.flatnonzero(edits <= DISTANCE).tolist()
        return ((some[place], int(edits[place])) for place in near)

    def _indexed(self, word: str) -> Sequence[str]:
        """Words that may be near."""
        if not len(self._keys):
            self._index()
        letters = code_points([word[:PREFIX]])[None]
        sums = [_sums(letters, kept)[0] for kept in _kept(letters.shape[1])]
        keys = np.unique(np.concatenate(sums) >> np.uint64(32)).astype(np.uint32)
        first = np.searchsorted(self._keys, keys, "left")
        last = np.searchsorted(self._keys, keys, "right")
        ranges = zip(first.tolist(), last.tolist(), strict=True)
        places = np.unique(np.concatenate([self._places[a:b] for a, b in ranges]))
        places = places[np.abs(self._sizes[places] - len(word)) <= DISTANCE]
        return [self.words[place] for place in places.tolist()]

    def _index(self) -> None:
        self._sizes = np.array([len(word) for word in self.words])
        begins = [word[:PREFIX] for word in self.words]
        order = sorted(range(len(begins)), key=lambda place: len(begins[place]))
        found = []
        for size, some in groupby(order, key=lambda place: len(begins[place])):
            chosen = list(some)
            letters = code_points([begins[place] for place in chosen]).reshape(len(chosen), size)
            places = np.array(chosen, dtype=np.uint64)
            for kept in (way[None] for ways in _kept(size) for way in ways):  # to save memory
                high = _sums(letters, kept)[:, 0] & np.uint64(0xFFFFFFFF << 32)
                found.append(high | places)
        both = np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.uint64)
        self._keys = (both >> np.uint64(32)).astype(np.uint32)
        self._places = both.astype(np.uint32).astype(np.int32)


def code_points(texts: Sequence[str]) -> NDArray[np.uint64]:
    """The letters of all texts, one after the other, as numbers."""
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(joined, dtype=np.uint32).astype(np.uint64)


@lru_cache
def _kept(size: int) -> list[NDArray[np.int64]]:
    """Which letters are left of so many when up to :data:`DISTANCE` are deleted: ways × letters,
    for each number of letters that are left."""
    counts = range(max(size - DISTANCE, 0), size + 1)
    return [np.array(list(combinations(range(size), n)), dtype=np.int64) for n in counts]


def _sums(letters: NDArray[np.uint64], kept: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Checksums of what is left of words: words × ways. Texts that share one by chance are told
    apart by their edits.

    Args:
        letters: words × letters. kept: ways × letters, which of them are left.
    """
    sums = np.zeros((len(letters), len(kept)), dtype=np.uint64)
    for column in kept.T:
        sums = sums * np.uint64(_FACTOR) + letters[:, column] + np.uint64(1)
    return sums
