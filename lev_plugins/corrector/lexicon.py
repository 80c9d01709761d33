"""Lists of words: all that there are, misspellings, neighbours, and what is written for another.

:class:`LetterModel` says how much a text looks like the words of a list.

``read`` and :func:`read_confusions` raise :class:`UserError` for a file that is not there, no UTF-8
or of another form.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from ..data.near_words import NearWords, code_points
from ..errors import UserError
from ..io.text_files import read_lines

T = TypeVar("T")
#: Letters of an n-gram of the letter model, at most; fewer where so many do not fit in 64 bits.
ORDER = 5
_BEGIN, _END = "\0", "\1"


def _parsed(path: str, parse: Callable[[str], T], form: str, empty: bool = False) -> list[T]:
    """What each line of a file holds, blank lines left out.

    Raises:
        UserError: the file cannot be read, or ``parse`` raised ValueError for a line.
    """
    found = []
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            try:
                found.append(parse(line))
            except ValueError as error:
                raise UserError(f"{path}, line {number}: {line!r} is not {form}") from error
    if not (found or empty):
        raise UserError(f"{path} holds no words")
    return found


def _number(text: str) -> float:
    """A finite number of 0 or more; ValueError for another text."""
    found = float(text)
    if not 0 <= found < math.inf:
        raise ValueError
    return found


class Lexicon:
    """Words, each with how often it is met; 0 where that is not known."""

    def __init__(self, counts: Mapping[str, float]) -> None:
        self.counts = dict(counts)
        self.words = sorted(self.counts)
        self._near = NearWords(self.words)

    @classmethod
    def read(cls, path: str) -> "Lexicon":
        """A file of words, one a line, each with its count behind it or without."""

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
        if all(word == word.lower() for word in self.counts):
            return self, {}
        counts: dict[str, float] = defaultdict(float)
        spelled: dict[str, str] = {}
        for word, count in sorted(self.counts.items(), key=lambda one: one[1]):
            counts[word.lower()] += count
            spelled[word.lower()] = word  # the most frequent of several
        shouted = all(word != word.lower() for word in self.counts)
        alone = {} if shouted else {k: one for k, one in spelled.items() if k not in self.counts}
        return Lexicon(counts), alone

    def near(self, word: str, most: int) -> list[str]:
        """``most`` words within two edits, the nearest first, of these the most frequent."""
        near = self._near.find(word)
        found = sorted((edits, -self.counts[one], one) for one, edits in near)
        return [one for _, _, one in found[:most]]


class Lookup:
    """Pairs of a misspelling and a correction, as met in training; there may be several of one."""

    def __init__(
        self,
        pairs: Iterable[tuple[str, str]],
        ambiguous: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    ) -> None:
        self.corrections: dict[str, tuple[str, ...]] = {}
        self.misspellings: dict[str, int] = {}
        #: Misspellings whose corrections are candidates where the word is none of the lexicon.
        self.ambiguous: dict[str, tuple[str, ...]] = dict(ambiguous)
        for wrong, right in pairs:
            known = self.corrections.get(wrong, ())
            if wrong != right and right not in known:
                self.corrections[wrong] = (*known, right)
                self.misspellings[right] = self.misspellings.get(right, 0) + 1

    def in_small_letters(self, known: Collection[str] = ()) -> "Lookup":
        """The same, to be asked in small letters; corrections keep their capitals.

        What is listed with capitals alone does not touch ``known`` words (*May*, *may*), nor does
        what has several corrections.
        """
        pairs = [
            (wrong.lower(), right)
            for wrong, corrections in self.corrections.items()
            if wrong == wrong.lower() or wrong.lower() not in known
            for right in corrections
        ]
        small = {word.lower() for word in known} if self.ambiguous else ()
        pairs += [
            (wrong, right)
            for wrong, corrections in self.ambiguous.items()
            if wrong not in small
            for right in corrections
        ]
        return Lookup(pairs)

    @classmethod
    def read(cls, path: str) -> "Lookup":
        """A file with a misspelling, a tab and its correction on each line, or codespell's own
        list (``teh->the``), in small letters; words with several corrections are
        :attr:`ambiguous`.
        """

        def parse(line: str) -> tuple[str, str, bool]:
            wrong, right = line.split("->" if "->" in line else "\t")
            if not (wrong and right):
                raise ValueError
            return (wrong.lower(), right.lower(), True) if "->" in line else (wrong, right, False)

        rows = _parsed(path, parse, "a misspelling, a tab and its correction", empty=True)
        several = {wrong: right for wrong, right, listed in rows if listed and "," in right}
        pairs = ((wrong, right) for wrong, right, _ in rows if wrong not in several)
        corrections = {wrong: _alternatives(text) for wrong, text in several.items()}
        return cls(pairs, corrections)


def _alternatives(text: str) -> tuple[str, ...]:
    """codespell's corrections of a word; none where a remark stands behind the last comma."""
    *corrections, remark = map(str.strip, text.split(","))
    return () if remark else tuple(corrections)


class Bigrams:
    """Pairs of neighbouring words, each with how often it is met, above 0."""

    def __init__(self, counts: Mapping[tuple[str, str], float]) -> None:
        self.counts = counts
        self.first: dict[str, float] = defaultdict(float)
        self.second: dict[str, float] = defaultdict(float)
        for (left, right), count in counts.items():
            self.first[left] += count
            self.second[right] += count
        self.total, self.least = math.fsum(self.first.values()), min(counts.values())

    @classmethod
    def read(cls, path: str) -> "Bigrams":
        """A file of two words and their count on each line; capitals do not matter."""

        def parse(line: str) -> tuple[str, str, float]:
            left, right, count = line.lower().split()
            if not (number := _number(count)):
                raise ValueError
            return left, right, number

        counts: dict[tuple[str, str], float] = defaultdict(float)
        for left, right, count in _parsed(path, parse, "two words and their count, above 0"):
            counts[left, right] += count
        return cls(counts)

    def __contains__(self, word: str) -> bool:
        return word in self.first or word in self.second

    def association(self, left: str, right: str) -> float:
        """Their pointwise mutual information, in nats; 0 where one of the words is in no pair.

        To both counts the smallest of the list is added, since a pair that is not listed was met
        less often.
        """
        chance = self.first.get(left, 0.0) * self.second.get(right, 0.0) / self.total
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
    found: dict[str, tuple[str, ...]] = {}
    for words in sets:
        for word in words:
            found[word] = tuple(sorted({*found.get(word, ()), *words} - {word}))
    return found


def read_confusions(path: str) -> Confusions:
    """A file of two words or more on each line (``then than``); capitals do not matter."""

    def parse(line: str) -> list[str]:
        words = line.lower().split()
        if len({*words}) < 2:
            raise ValueError
        return words

    return confusions(_parsed(path, parse, "two or more words that are written for one another"))


class LetterModel:
    """An n-gram model of letters with Witten-Bell smoothing, each word counted once.

    A letter's probability is ``(c + t * lower) / (n + t)``: c times it followed the letters before
    it, n times any letter did, t different ones; ``lower`` is the same with a letter less before.
    """

    def __init__(self, words: Sequence[str]) -> None:
        letters = sorted({*"".join(words)})
        self.base = len(letters) + 3  # begin, end and a letter of none of the words
        self.order = min(ORDER, int(62 / math.log2(self.base)))
        self._numbers = {one: chr(number) for number, one in enumerate(letters, start=2)}
        # of each size the n-grams as numbers: how often each is met, and how often and with how
        # many different ones the letters before its last go on
        self.tables: list[tuple[dict[int, int], dict[int, tuple[int, int]]]] = []
        text = code_points([*map(self._text, words)]).astype(np.int64)
        keys = sum(np.roll(text, size) * self.base**size for size in range(self.order))
        keys, counts = np.unique(keys[text != ord(_BEGIN)], return_counts=True)
        for size in range(self.order, 0, -1):
            # the last letters of an n-gram are one of a smaller size, met as often
            keys, places = np.unique(keys % self.base**size, return_inverse=True)
            counts = np.bincount(places, counts).astype(np.int64)
            before, first = np.unique(keys // self.base, return_index=True)
            totals, kinds = np.add.reduceat(counts, first), np.diff([*first, len(keys)])
            after = zip(before.tolist(), zip(totals.tolist(), kinds.tolist()))
            met = zip(keys.tolist(), counts.tolist(), strict=True)
            self.tables.insert(0, (dict(met), dict(after)))

    def _text(self, word: str) -> str:
        """Its letters' numbers as characters, with the beginning in front and the end behind."""
        other = chr(self.base - 1)
        numbers = "".join(self._numbers.get(one, other) for one in word)
        return f"{_BEGIN * (self.order - 1)}{numbers}{_END}"

    def per_letter(self, word: str) -> float:
        """Mean log-probability, in nats, of the letters of a word and of its end."""
        text, chances = [*map(ord, self._text(word))], []
        for last in range(self.order - 1, len(text)):
            chance, key = 1 / self.base, 0
            for size, (met, going_on) in enumerate(self.tables):
                key += text[last - size] * self.base**size
                if behind := going_on.get(key // self.base):
                    total, kinds = behind
                    chance = (met.get(key, 0) + kinds * chance) / (total + kinds)
            chances.append(chance)
        return math.fsum(np.log(chances)) / len(chances)
