"""How much a text looks like the words of a lexicon, letter by letter."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .lexicon import code_points

#: Letters of an n-gram, at most; fewer where so many would not fit in 64 bits.
ORDER = 5
_BEGIN, _END = 0, 1
_Numbers = NDArray[np.int64]


class LetterModel:
    """An n-gram model of letters with Witten-Bell smoothing, each word counted once.

    A letter's probability is ``(c + t * lower) / (n + t)``: c times it followed the letters before
    it, n times any letter did, t different ones; ``lower`` is the same with a letter less before.

    Args:
        words: to learn from.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.letters = np.unique(code_points(words))
        self.base = len(self.letters) + 3  # begin, end and a letter of none of the words
        self.order = min(ORDER, int(62 / math.log2(self.base)))
        self.tables = [_Table(keys, self.base) for keys in self._keys(words)]

    def _keys(self, words: Sequence[str]) -> list[_Numbers]:
        """For each size the n-gram that ends at each letter, as a number; ends of words count."""
        letters, sizes = code_points(words), np.array([len(word) for word in words])
        places = np.searchsorted(self.letters, letters)
        known = np.append(self.letters, 0)[places] == letters
        # in front of each word the beginning, as often as an n-gram may look back
        text = np.full(len(letters) + self.order * len(words), _BEGIN)
        text[np.cumsum(sizes + self.order) - 1] = _END
        front = np.repeat(self.order * np.arange(1, len(words) + 1) - 1, sizes)
        text[np.arange(len(letters)) + front] = np.where(known, places + 2, self.base - 1)
        key, keys = np.zeros_like(text), []
        for size in range(self.order):
            key = key + np.roll(text, size) * self.base**size
            keys.append(key[text != _BEGIN])
        return keys

    def per_letter(self, word: str) -> float:
        """Mean log-probability, in nats, of the letters of a word and of its end."""
        chances = np.full(len(word) + 1, 1 / self.base)
        for table, keys in zip(self.tables, self._keys([word]), strict=True):
            chances = table.smoothed(keys, chances)
        return math.fsum(np.log(chances)) / len(chances)


class _Table:
    """Counts of n-grams of one size, and of the letters before their last."""

    def __init__(self, keys: _Numbers, base: int) -> None:
        self.base = base
        self.grams, self.counts = np.unique(keys, return_counts=True)
        self.contexts, first = np.unique(self.grams // base, return_index=True)
        self.totals = np.add.reduceat(self.counts, first)
        self.kinds = np.diff([*first, len(self.grams)])

    def smoothed(self, keys: _Numbers, lower: NDArray[np.float64]) -> NDArray[np.float64]:
        found = _found(self.grams, self.counts, keys)
        totals = _found(self.contexts, self.totals, keys // self.base)
        kinds = _found(self.contexts, self.kinds, keys // self.base)
        chances = (found + kinds * lower) / np.maximum(totals + kinds, 1)
        return np.where(totals > 0, chances, lower)


def _found(keys: _Numbers, values: _Numbers, wanted: _Numbers) -> _Numbers:
    """The value of each wanted key, 0 where it is missing."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0)
