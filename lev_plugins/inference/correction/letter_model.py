"""How much a text looks like the words of a lexicon, letter by letter."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...data.near_words import code_points

#: Letters of an n-gram, at most; fewer where so many would not fit in 64 bits.
ORDER = 5
_BEGIN, _END = 0, 1
_Numbers = NDArray[np.int64]


class LetterModel:
    """An n-gram model of letters with Witten-Bell smoothing, each word counted once.

    A letter's probability is ``(c + t * lower) / (n + t)``: c times it followed the letters before
    it, n times any letter did, t different ones; ``lower`` is the same with a letter less before.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.letters = np.unique(code_points(words))
        self.base = len(self.letters) + 3  # begin, end and a letter of none of the words
        self.order = min(ORDER, int(62 / math.log2(self.base)))
        keys, counts = np.unique(self._keys(words), return_counts=True)
        self.tables = [_Table(keys, counts, self.base)]
        for size in range(self.order - 1, 0, -1):
            # the last letters of an n-gram are one of a smaller size, met as often
            keys, places = np.unique(keys % self.base**size, return_inverse=True)
            counts = np.bincount(places, counts).astype(np.int64)
            self.tables.insert(0, _Table(keys, counts, self.base))

    def _keys(self, words: Sequence[str]) -> _Numbers:
        """The n-gram that ends at each letter, as a number; ends of words count."""
        letters, sizes = code_points(words), np.array([len(word) for word in words])
        places = np.searchsorted(self.letters, letters)
        known = np.append(self.letters, 0)[places] == letters
        # in front of each word the beginning, as often as an n-gram may look back
        text = np.full(len(letters) + self.order * len(words), _BEGIN)
        text[np.cumsum(sizes + self.order) - 1] = _END
        front = np.repeat(self.order * np.arange(1, len(words) + 1) - 1, sizes)
        text[np.arange(len(letters)) + front] = np.where(known, places + 2, self.base - 1)
        keys = sum(np.roll(text, size) * self.base**size for size in range(self.order))
        return keys[text != _BEGIN]

    def per_letter(self, word: str) -> float:
        """Mean log-probability, in nats, of the letters of a word and of its end."""
        chances = np.full(len(word) + 1, 1 / self.base)
        keys = self._keys([word])
        for size, table in enumerate(self.tables, start=1):
            chances = table.smoothed(keys % self.base**size, chances)
        return math.fsum(np.log(chances)) / len(chances)


class _Table:
    """Counts of n-grams of one size, in order, and of the letters before their last."""

    def __init__(self, grams: _Numbers, counts: _Numbers, base: int) -> None:
        self.grams, self.counts, self.base = grams, counts, base
        self.contexts, first = np.unique(self.grams // base, return_index=True)
        self.totals = np.add.reduceat(self.counts, first)
        self.kinds = np.diff([*first, len(self.grams)])

    def smoothed(self, keys: _Numbers, lower: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of n-grams, from those with a letter less in front."""
        found = _found(self.grams, self.counts, keys)
        totals = _found(self.contexts, self.totals, keys // self.base)
        kinds = _found(self.contexts, self.kinds, keys // self.base)
        chances = (found + kinds * lower) / np.maximum(totals + kinds, 1)
        return np.where(totals > 0, chances, lower)


def _found(keys: _Numbers, values: _Numbers, wanted: _Numbers) -> _Numbers:
    """The value of each wanted key, 0 where it is missing."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0)
