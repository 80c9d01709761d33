"""N-grams: of letters, which tell what looks like a word, and pairs of neighbouring words."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lev_runtime.beam.search import code_points

from .prepared import (
    COUNTS,
    Arrays,
    counts_as_arrays,
    counts_of,
    number_of,
    numbers,
    packed,
    parsed,
    read_arrays,
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
    _longest: tuple[Numbers, Numbers]  # the longest n-grams in order, and how often each is met

    def __init__(self, words: Sequence[str]) -> None:
        self._set_letters(sorted({*"".join(words)}))
        text = code_points([*map(self._text, words)]).astype(np.int64)
        keys = np.zeros_like(text)
        for size in range(self.order):
            keys += np.roll(text, size) * self.base**size
        self._longest = np.unique(keys[text != ord(_BEGIN)], return_counts=True)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "LetterModel":
        """Returns the model of :meth:`arrays`."""
        model = cls.__new__(cls)
        model._set_letters(unpacked(arrays["letters"]))
        keys = arrays["gram_steps"].astype(np.int64).cumsum()
        model._longest = keys, arrays["gram_counts"].astype(np.int64)
        return model

    def arrays(self) -> Arrays:
        """Returns what the model is made of."""
        keys, counts = self._longest
        arrays = np.diff(keys, prepend=0), counts
        return {"letters": packed(self.letters)} | dict(zip(self.NAMES[1:], map(numbers, arrays)))

    def _set_letters(self, letters: list[str]) -> None:
        self.letters = letters
        self.base = len(letters) + 3  # begin, end and a letter of none of the words
        self.order = min(ORDER, int(62 / math.log2(self.base)))
        self._numbers = {letter: chr(number) for number, letter in enumerate(letters, start=2)}
        self.per_letter = lru_cache(MOST_KEPT)(self._per_letter)

    @cached_property
    def grams(self) -> list[Grams]:
        """Returns the n-grams of each size from 1 on, by those of the largest size."""
        grams, (keys, counts) = list[Grams](), self._longest
        for size in range(self.order, 0, -1):
            before = keys // self.base
            first = np.flatnonzero(np.diff(before, prepend=-1))
            totals = np.add.reduceat(counts, first)
            kinds = np.diff(first, append=len(keys))
            grams.insert(0, Grams(keys, counts, before[first], totals, kinds))
            # the last letters of an n-gram are one of a smaller size, met as often
            last_letters = keys % self.base ** (size - 1)
            keys, places = np.unique(last_letters, return_inverse=True)
            counts = np.bincount(places, counts).astype(np.int64)
        return grams

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


class Bigrams:
    """Pairs of neighbouring words, each with how often it is met, above 0.

    A pair is a number: that of its left word times the number of words, and that of its right one.
    """

    NAMES = ("words", "row_sizes", "rights", *COUNTS)  #: of :meth:`arrays`

    def __init__(self, counts: Mapping[tuple[str, str], float]) -> None:
        words = sorted({word for pair in counts for word in pair})
        places = {word: number for number, word in enumerate(words)}
        numbered = {
            places[left] * len(words) + places[right]: (left, right) for left, right in counts
        }
        pairs = sorted(numbered)
        self._set(words, np.array(pairs), np.array([counts[numbered[pair]] for pair in pairs]))

    def _set(self, words: Sequence[str], pairs: np.ndarray, counts: np.ndarray) -> None:
        self.words, self._pairs, self._counts = words, pairs, counts
        self._numbers = {word: number for number, word in enumerate(words)}
        lefts, rights = np.divmod(pairs, len(words))
        self._first = np.bincount(lefts, counts, len(words))
        self._second = np.bincount(rights, counts, len(words))
        self.total = math.fsum(self._first)
        self.least = float(counts.min())
        #: How often two words are met side by side; 0 for a pair that is not listed.
        self.count = lru_cache(MOST_KEPT)(self._count)

    @classmethod
    def read(cls, path: str) -> "Bigrams":
        """Reads a file of two words and their count on each line; capitals do not matter."""
        if arrays := read_arrays(path, cls.NAMES):
            bigrams, words = cls.__new__(cls), unpacked(arrays["words"])
            lefts = np.repeat(np.arange(len(words)), arrays["row_sizes"])
            pairs = lefts * len(words) + arrays["rights"]
            bigrams._set(words, pairs, counts_of(arrays))
            return bigrams

        def parse(line: str) -> tuple[str, str, float]:
            left, right, count = line.lower().split()
            if not (number := number_of(count)):
                raise ValueError
            return left, right, number

        counts: dict[tuple[str, str], float] = defaultdict(float)
        for left, right, count in parsed(path, parse, "two words and their count, above 0"):
            counts[left, right] += count
        return cls(counts)

    def arrays(self) -> Arrays:
        """Returns what it is prepared as."""
        lefts, rights = np.divmod(self._pairs, len(self.words))
        sizes = np.bincount(lefts, minlength=len(self.words))
        words, counts = packed(self.words), counts_as_arrays(self._counts.tolist())
        return {"words": words, "row_sizes": numbers(sizes), "rights": numbers(rights), **counts}

    def __contains__(self, word: str) -> bool:
        return word in self._numbers

    def _count(self, left: str, right: str) -> float:
        first, second = self._numbers.get(left), self._numbers.get(right)
        if first is None or second is None:
            return 0.0
        pair = first * len(self.words) + second
        place = int(self._pairs.searchsorted(pair))
        is_listed = place < len(self._pairs) and self._pairs[place] == pair
        return float(self._counts[place]) if is_listed else 0.0

    def common(self, share: float) -> set[str]:
        """Returns the words that are in this share of all pairs."""
        pairs = np.divmod(self._pairs, len(self.words))
        neighbours = np.bincount(np.concatenate(pairs))
        places = np.flatnonzero(neighbours >= share * len(self._pairs))
        return {self.words[place] for place in places.tolist()}

    def association(self, left: str, right: str) -> float:
        """Returns their pointwise mutual information, in nats; 0 where one of the words is in no
        pair.

        To both counts the smallest of the list is added, since a pair that is not listed was met
        less often.
        """
        if left not in self or right not in self:
            return 0.0
        met_left, met_right = self._first[self._numbers[left]], self._second[self._numbers[right]]
        chance = float(met_left * met_right) / self.total
        return math.log((self.count(left, right) + self.least) / (chance + self.least))

    def score(self, text: str, left: str, right: str) -> float:
        """Returns that of a text of one word or more between two others, ``""`` for none."""
        words = [word for word in (left, *text.split(), right) if word]
        return sum(self.association(*pair) for pair in zip(words, words[1:]))
