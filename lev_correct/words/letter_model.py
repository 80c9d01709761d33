"""How much a text looks like the words of a list."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lev_runtime.beam.search import code_points

from .prepared import (
    Arrays,
    numbers,
    packed,
    unpacked,
)

#: Letters of an n-gram, at most; fewer where so many do not fit in 64 bits.
ORDER = 5
MOST_KEPT = 100_000  # words whose letters are remembered
_BEGIN, _END = "\0", "\1"
Numbers = NDArray[np.int64]


class Grams(NamedTuple):
    """The n-grams of one size as numbers, in order, and how often each is met; the letters before
    the last of them, how often these go on, and with how many different ones."""

    keys: Numbers
    counts: Numbers
    before: Numbers
    totals: Numbers
    kinds: Numbers


class LetterModel:
    """An n-gram model of letters with Witten-Bell smoothing, each word counted once.

    A letter's probability is ``(c + t * lower) / (n + t)``: c times it followed the letters before
    it, n times any letter did, t different ones; ``lower`` is the same with a letter less before.
    """

    NAMES = ("letters", "gram_steps", "gram_counts")  #: of :meth:`arrays`

    def __init__(self, words: Sequence[str]) -> None:
        self._set_letters(sorted({*"".join(words)}))
        text = code_points([*map(self._text, words)]).astype(np.int64)
        keys = np.zeros_like(text)
        for size in range(self.order):
            keys += np.roll(text, size) * self.base**size
        grams, counts = np.unique(keys[text != ord(_BEGIN)], return_counts=True)
        self._set_grams(grams, counts)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "LetterModel":
        """Returns the model of :meth:`arrays`."""
        model = cls.__new__(cls)
        model._set_letters(unpacked(arrays["letters"]))
        keys = arrays["gram_steps"].astype(np.int64).cumsum()
        model._set_grams(keys, arrays["gram_counts"].astype(np.int64))
        return model

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns what the model is made of."""
        longest = self.grams[-1]
        steps = numbers(np.diff(longest.keys, prepend=0))
        counts = numbers(longest.counts)
        return {"letters": packed(self.letters), "gram_steps": steps, "gram_counts": counts}

    def _set_letters(self, letters: list[str]) -> None:
        self.letters = letters
        self.base = len(letters) + 3  # begin, end and a letter of none of the words
        self.order = min(ORDER, int(62 / math.log2(self.base)))
        self._numbers = {letter: chr(number) for number, letter in enumerate(letters, start=2)}
        self.per_letter = lru_cache(MOST_KEPT)(self._per_letter)

    def _set_grams(self, keys: Numbers, counts: Numbers) -> None:
        """Sets all n-grams by those of the largest size, in order, and how often each is met."""
        #: of each size from 1 on
        self.grams: list[Grams] = []
        for size in range(self.order, 0, -1):
            before = keys // self.base
            first = np.flatnonzero(np.diff(before, prepend=-1))
            totals = np.add.reduceat(counts, first)
            kinds = np.diff(first, append=len(keys))
            self.grams.insert(0, Grams(keys, counts, before[first], totals, kinds))
            # the last letters of an n-gram are one of a smaller size, met as often
            last_letters = keys % self.base ** (size - 1)
            keys, places = np.unique(last_letters, return_inverse=True)
            counts = np.bincount(places, counts).astype(np.int64)

    def _text(self, word: str) -> str:
        """Its letters' numbers as characters, with the beginning in front and the end after."""
        other = chr(self.base - 1)
        letters = "".join([self._numbers.get(letter, other) for letter in word])
        begin = _BEGIN * (self.order - 1)
        return f"{begin}{letters}{_END}"

    def _per_letter(self, word: str) -> float:
        """Returns the mean log-probability, in nats, of the letters of a word and of its end."""
        text = np.array([*map(ord, self._text(word))])
        last = np.arange(self.order - 1, len(text))
        chances = np.full(len(last), 1 / self.base)
        keys = np.zeros_like(last)
        for size, grams in enumerate(self.grams):
            keys += text[last - size] * self.base**size
            before, is_known = _found(grams.before, keys // self.base)
            total, kinds = grams.totals[before], grams.kinds[before]
            place, is_met = _found(grams.keys, keys)
            count = grams.counts[place] * is_met
            smoothed = (count + kinds * chances) / (total + kinds)
            chances = np.where(is_known, smoothed, chances)
        return math.fsum(np.log(chances)) / len(chances)


def _found(ordered: Numbers, keys: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """Where keys stand among others, and whether they do."""
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    return places, ordered[places] == keys
