"""Lists of words: all that there are, misspellings, neighbours, and what is written for another.

``read`` and :func:`read_confusions` raise :class:`UserError` for a file that is not there, no UTF-8
or of another form. Lexicons and bigrams may be prepared (:mod:`.prepared`).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import read_lines
from lev_runtime.search import WordTree

from .kept_lists import kept_arrays
from .letter_model import LetterModel as LetterModel
from .near_words import NearWords
from .prepared import (
    Arrays,
    counts_as_arrays,
    counts_of,
    numbers,
    packed,
    read_arrays,
    shared_counts,
    unpacked,
)
from .sorted_lines import SortedLines

T = TypeVar("T")
#: What stands for it in :attr:`Lexicon.tree`.
END_OF_WORD = ord("\n")
_COUNTS = ("counts", "count_places")


def _parsed(path: str, parse: Callable[[str], T], form: str, empty: bool = False) -> list[T]:
    """What each line of a file holds, blank lines left out.

    Raises:
        UserError: the file cannot be read, or ``parse`` raised ValueError for a line.
    """
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        if line and not line.isspace():
            try:
                rows.append(parse(line))
            except ValueError as error:
                raise UserError(f"{path}, line {number}: {line!r} is not {form}") from error
    if not (rows or empty):
        raise UserError(f"{path} holds no words")
    return rows


def _number(text: str) -> float:
    """A finite number of 0 or more; ValueError for another text."""
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError
    return number


def all_small(words: Iterable[str]) -> bool:
    """Whether no word has a capital."""
    text = "\n".join(words)
    return text == text.lower()


class Lexicon:
    """Words, each with how often it is met; 0 where that is not known."""

    OF_TREE = ("tree_letters", "tree_sizes")  #: of :meth:`arrays`

    def __init__(self, counts: Mapping[str, float]) -> None:
        self.counts = dict(counts)
        self.words = sorted(self.counts)
        self._near = NearWords(self.words)

    @cached_property
    def letters(self) -> LetterModel:
        """Of the words."""
        return LetterModel(self.words)

    @cached_property
    def tree(self) -> WordTree:
        """The words by their letters, :data:`END_OF_WORD` behind each."""
        return WordTree.of("\n".join([*self.words, ""]), END_OF_WORD)

    def arrays(self) -> dict[str, np.ndarray]:
        """What it is prepared as."""
        words = packed(self.words)
        counts = counts_as_arrays([self.counts[word] for word in self.words])
        letters, sizes = self.OF_TREE
        tree = {letters: numbers(self.tree.symbols), sizes: numbers(np.diff(self.tree.starts))}
        return {"words": words, **counts, **self.letters.arrays(), **tree}

    @classmethod
    def read(cls, path: str) -> "Lexicon":
        """A file of words, one a line, each with its count behind it or without."""
        names = ("words", *_COUNTS, *LetterModel.NAMES)
        if arrays := read_arrays(path, names, optional=cls.OF_TREE):
            words = unpacked(arrays["words"])
            lexicon = cls(dict(zip(words, shared_counts(arrays), strict=True)))
            lexicon.letters = LetterModel.from_arrays(arrays)
            if cls.OF_TREE[0] in arrays:
                lexicon.tree = WordTree(*(arrays[name] for name in cls.OF_TREE))
            return lexicon

        def parse(line: str) -> tuple[str, float]:
            word, count, *_ = [*line.split(maxsplit=1), "0"]
            return word, _number(count)

        counts: dict[str, float] = defaultdict(float)
        for word, count in _parsed(path, parse, "a word, with its count behind it or without"):
            counts[word] += count
        return cls(counts)

    def __contains__(self, word: str) -> bool:
        return word in self.counts

    def in_small_letters(self) -> tuple["Lexicon", dict[str, str]]:
        """The same words, to be asked in small letters, and how those are spelled that stand here
        with capitals alone (*london*: *London*): none where every word has capitals.
        """
        if all_small(self.words):
            return self, {}
        counts: dict[str, float] = defaultdict(float)
        spelled: dict[str, str] = {}
        for word, count in sorted(self.counts.items(), key=lambda entry: entry[1]):
            counts[word.lower()] += count
            spelled[word.lower()] = word  # the most frequent of several
        shouted = all(word != word.lower() for word in self.counts)
        if shouted:
            return Lexicon(counts), {}
        alone = {small: word for small, word in spelled.items() if small not in self.counts}
        return Lexicon(counts), alone

    def near(self, word: str, most: int) -> list[str]:
        """``most`` words within two edits, the nearest first, of these the most frequent."""
        edits = dict(self._near.find(word))
        nearest = sorted(edits, key=lambda other: (edits[other], -self.counts[other], other))
        return nearest[:most]


class Lookup:
    """Pairs of a misspelling and a correction, as met in training; there may be several of one."""

    NAMES = ("lines", "rights", "right_counts")  #: of :meth:`arrays`

    def __init__(
        self,
        pairs: Iterable[tuple[str, str]],
        ambiguous: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    ) -> None:
        self.misspellings: dict[str, int] = {}
        #: Misspellings whose corrections are candidates where the word is none of the lexicon.
        self.ambiguous: dict[str, tuple[str, ...]] = dict(ambiguous)
        #: Whether it is to be asked in small letters.
        self.is_small = False
        corrections, misspellings = dict[str, tuple[str, ...]](), self.misspellings
        self.corrections: Mapping[str, tuple[str, ...]] = corrections
        for wrong, right in pairs:
            known = corrections.get(wrong, ())
            if wrong != right and right not in known:
                corrections[wrong] = (*known, right)
                misspellings[right] = misspellings.get(right, 0) + 1

    def in_small_letters(self, known: Collection[str] = ()) -> "Lookup":
        """The same, to be asked in small letters; corrections keep their capitals.

        What is listed with capitals alone does not touch ``known`` words (*May*, *may*), nor does
        what has several corrections.
        """
        if self.is_small:
            return self
        listed = (
            (wrong.lower(), right)
            for wrong, corrections in self.corrections.items()
            if wrong == wrong.lower() or wrong.lower() not in known
            for right in corrections
        )
        small = known if all_small(known) else {word.lower() for word in known}
        several = (
            (wrong, right)
            for wrong, corrections in self.ambiguous.items()
            if wrong not in small
            for right in corrections
        )
        table = Lookup(chain(listed, several))
        table.is_small = True
        return table

    @classmethod
    def kept(cls, path: str, lexicon: Lexicon, lexicon_path: str) -> "Lookup":
        """What :meth:`read` and :meth:`in_small_letters` make of a file beside a lexicon, from the
        user's cache where it is there (:mod:`.kept_lists`)."""

        def make() -> Arrays:
            return cls.read(path).in_small_letters(lexicon.counts).arrays()

        arrays = kept_arrays("misspellings", [path, lexicon_path], cls.NAMES, make)
        table = cls(())
        table.corrections = SortedLines(arrays["lines"].tobytes())
        rights, counts = unpacked(arrays["rights"]), arrays["right_counts"].tolist()
        table.misspellings = dict(zip(rights, counts, strict=True))
        table.is_small = True
        return table

    def arrays(self) -> dict[str, np.ndarray]:
        """What it is kept as."""
        text = SortedLines.of(self.corrections).text
        lines = np.frombuffer(text, dtype=np.uint8)
        rights = packed([*self.misspellings])
        counts = np.array([*self.misspellings.values()], dtype=np.int64)
        return {"lines": lines, "rights": rights, "right_counts": numbers(counts)}

    @classmethod
    def read(cls, path: str) -> "Lookup":
        """A file with a misspelling, a tab and its correction on each line, or codespell's own
        list (``teh->the``), in small letters; words with several corrections are
        :attr:`ambiguous`.
        """

        def parse(line: str) -> tuple[str, str, bool]:
            is_codespells = "->" in line
            listed = line.lower().replace("\t", " ").split("->")
            wrong, right = listed if is_codespells else line.split("\t")
            if not (wrong and right):
                raise ValueError
            return wrong, right, is_codespells

        rows = _parsed(path, parse, "a misspelling, a tab and its correction", empty=True)
        several = {wrong: right for wrong, right, listed in rows if listed and "," in right}
        pairs = ((wrong, right) for wrong, right, _ in rows if wrong not in several)
        corrections = {wrong: _alternatives(text) for wrong, text in several.items()}
        return cls(pairs, corrections)


def _alternatives(text: str) -> tuple[str, ...]:
    """codespell's corrections of a word; none where a remark stands behind the last comma."""
    *corrections, remark = map(str.strip, text.split(","))
    return () if remark else tuple(corrections)


class PairCounts(Mapping[tuple[str, str], float]):
    """How often each of many pairs of words is met.

    The words at the right of word n, by their numbers, in order, are
    ``rights[starts[n] : starts[n + 1]]``.
    """

    NAMES = ("words", "row_sizes", "rights", *_COUNTS)  #: of :meth:`arrays`

    def __init__(
        self, words: Sequence[str], row_sizes: np.ndarray, rights: np.ndarray, counts: np.ndarray
    ) -> None:
        self.words = words
        self.row_sizes = row_sizes
        self.rights = rights
        self.counts = counts
        self._numbers = {word: number for number, word in enumerate(words)}
        self._starts = [0, *row_sizes.cumsum(dtype=np.int64).tolist()]

    @classmethod
    def of(cls, counts: Mapping[tuple[str, str], float]) -> "PairCounts":
        """The same counts."""
        words = sorted({word for pair in counts for word in pair})
        places = {word: number for number, word in enumerate(words)}
        rows = sorted((places[left], places[right], met) for (left, right), met in counts.items())
        lefts, rights, met_in_order = zip(*rows, strict=True)
        sizes = np.bincount(lefts, minlength=len(words))
        return cls(words, sizes, np.array(rights, dtype=np.int64), np.array(met_in_order))

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "PairCounts":
        """Of :meth:`arrays`."""
        words = unpacked(arrays["words"])
        return cls(words, arrays["row_sizes"], arrays["rights"], counts_of(arrays))

    def arrays(self) -> dict[str, np.ndarray]:
        """What it is prepared as."""
        words = packed(self.words)
        sizes = numbers(self.row_sizes)
        rights = numbers(self.rights)
        counts = counts_as_arrays(self.counts.tolist())
        return {"words": words, "row_sizes": sizes, "rights": rights, **counts}

    def __getitem__(self, pair: tuple[str, str]) -> float:
        left, right = map(self._numbers.get, pair)
        if left is not None and right is not None:
            start, end = self._starts[left : left + 2]
            place = start + int(np.searchsorted(self.rights[start:end], right))
            if place < end and self.rights[place] == right:
                return float(self.counts[place])
        raise KeyError(pair)

    def __len__(self) -> int:
        return len(self.rights)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for left, right in zip(self._lefts().tolist(), self.rights.tolist(), strict=True):
            yield self.words[left], self.words[right]

    def _lefts(self) -> np.ndarray:
        """Of each pair the number of its left word."""
        return np.repeat(np.arange(len(self.words)), self.row_sizes)

    def sums(self) -> tuple[dict[str, float], dict[str, float]]:
        """How often each word stands left and right in a pair, where it does."""

        def met(side: np.ndarray) -> dict[str, float]:
            sums = np.bincount(side, self.counts, len(self.words)).tolist()
            return {word: count for word, count in zip(self.words, sums, strict=True) if count}

        return met(self._lefts()), met(self.rights)


class Bigrams:
    """Pairs of neighbouring words, each with how often it is met, above 0."""

    def __init__(self, counts: Mapping[tuple[str, str], float]) -> None:
        self.counts = counts if isinstance(counts, PairCounts) else PairCounts.of(counts)
        self.first, self.second = self.counts.sums()
        self.total = math.fsum(self.first.values())
        self.least = float(self.counts.counts.min())

    @classmethod
    def read(cls, path: str) -> "Bigrams":
        """A file of two words and their count on each line; capitals do not matter."""
        if arrays := read_arrays(path, PairCounts.NAMES):
            return cls(PairCounts.from_arrays(arrays))

        def parse(line: str) -> tuple[str, str, float]:
            left, right, count = line.lower().split()
            if not (number := _number(count)):
                raise ValueError
            return left, right, number

        counts: dict[tuple[str, str], float] = defaultdict(float)
        for left, right, count in _parsed(path, parse, "two words and their count, above 0"):
            counts[left, right] += count
        return cls(counts)

    def arrays(self) -> dict[str, np.ndarray]:
        """What it is prepared as."""
        return self.counts.arrays()

    def __contains__(self, word: str) -> bool:
        return word in self.first or word in self.second

    def association(self, left: str, right: str) -> float:
        """Their pointwise mutual information, in nats; 0 where one of the words is in no pair.

        To both counts the smallest of the list is added, since a pair that is not listed was met
        less often.
        """
        met_left = self.first.get(left, 0.0)
        met_right = self.second.get(right, 0.0)
        chance = met_left * met_right / self.total
        met = self.counts.get((left, right), 0.0)
        return math.log((met + self.least) / (chance + self.least))

    def score(self, text: str, left: str, right: str) -> float:
        """Of a text of one word or more between two others, ``""`` where there is none."""
        words = [word for word in (left, *text.split(), right) if word]
        return sum(self.association(*pair) for pair in zip(words, words[1:]))


Confusions = Mapping[str, tuple[str, ...]]


def confusions(sets: Iterable[Sequence[str]]) -> Confusions:
    """For each word the others of its sets, in order: words in small letters that are written for
    one another (*then*, *than*).

    Both are equally likely to be slips for each other. Bayes' rule asks which is more probable
    here: by how often it is met, and by what stands beside it.
    """
    alternatives: dict[str, tuple[str, ...]] = {}
    for words in sets:
        for word in words:
            alternatives[word] = tuple(sorted({*alternatives.get(word, ()), *words} - {word}))
    return alternatives


def read_confusions(path: str) -> Confusions:
    """A file of two words or more on each line (``then than``); capitals do not matter."""

    def parse(line: str) -> list[str]:
        words = line.lower().split()
        if len({*words}) < 2:
            raise ValueError
        return words

    return confusions(_parsed(path, parse, "two or more words that are written for one another"))
