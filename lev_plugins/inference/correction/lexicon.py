"""Words that there are, how often each is met, and which of them are near a misspelling."""

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ...data.near_words import NearWords
from ...errors import UserError
from ...io.text_files import read_lines

if TYPE_CHECKING:
    from fairseq.data import Dictionary

#: A lexicon of so many words has each letter of its language that is one in so many of a text's,
#: which has so many letters or more.
WORDS, ONE_IN, LETTERS = 5_000, 1_000, 100_000


class Lexicon:
    """Words, each with how often it is met; 0 where that is not known."""

    def __init__(self, counts: Mapping[str, float]) -> None:
        self.counts = dict(counts)
        self.words = sorted(self.counts)
        self._near = NearWords(self.words)

    @classmethod
    def read(cls, path: str) -> "Lexicon":
        """A file of words, one a line, each with its count behind it or without.

        Raises:
            UserError: no such file, no UTF-8, a line with more than a word and a count.
        """
        counts: dict[str, float] = {}
        for number, line in enumerate(read_lines(path), start=1):
            parts = line.split()
            if not parts:
                continue
            try:
                count = float(parts[1]) if len(parts) > 1 else 0.0
            except ValueError:
                count = -1.0
            if len(parts) > 2 or not 0 <= count < math.inf:
                raise UserError(
                    f"{path}, line {number}: {line.strip()!r} is not a word and its count; give "
                    "one word a line, with its count behind it or without"
                )
            counts[parts[0]] = counts.get(parts[0], 0.0) + count
        if not counts:
            raise UserError(f"{path} holds no words")
        return cls(counts)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.counts

    def in_small_letters(self) -> tuple["Lexicon", dict[str, str]]:
        """The same words, to be asked in small letters, and how those are spelled that stand here
        with capitals alone (*london*: *London*): none where every word has capitals.
        """
        if all(word == word.lower() for word in self.counts):
            return self, {}
        counts: dict[str, float] = {}
        spelled: dict[str, str] = {}
        for word, count in sorted(self.counts.items(), key=lambda one: one[1]):
            counts[word.lower()] = counts.get(word.lower(), 0.0) + count
            spelled[word.lower()] = word  # the most frequent of several
        if all(word != word.lower() for word in self.counts):
            return Lexicon(counts), {}
        return Lexicon(counts), {
            word: one for word, one in spelled.items() if word not in self.counts
        }

    def near(self, word: str, most: int) -> list[str]:
        """``most`` words within two edits, the nearest first, of these the most frequent."""
        near = self._near.find(word)
        found = sorted((edits, -self.counts[one], one) for one, edits in near)
        return [one for _, _, one in found[:most]]

    def lacking(self, dictionary: "Dictionary") -> dict[str, int]:
        """Small letters that no word has and a text often has: the list spells them otherwise, as
        one that was case-folded has *ss* for *ß* and *σ* for *ς*.

        ``dictionary``: of the text. With each letter comes one in how many of the text it is.
        """
        met: Counter[str] = Counter()
        for symbol, count in list(zip(dictionary.symbols, dictionary.count))[dictionary.nspecial :]:
            for one in filter(str.isalpha, symbol.lower()):
                met[one] += count
        if len(self) < WORDS or met.total() < LETTERS:
            return {}
        known = {one for word in self.words for one in word.lower()}
        shares = {one: met.total() // count for one, count in met.items() if count}
        return {one: n for one, n in shares.items() if n <= ONE_IN and one not in known}


class Lookup:
    """Pairs of a misspelling and a correction, as met in training; there may be several of one."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.corrections: dict[str, tuple[str, ...]] = {}
        self.misspellings: dict[str, int] = {}
        for wrong, right in pairs:
            known = self.corrections.get(wrong, ())
            if wrong != right and right not in known:
                self.corrections[wrong] = (*known, right)
                self.misspellings[right] = self.misspellings.get(right, 0) + 1

    def in_small_letters(self, known: Container[str] = ()) -> "Lookup":
        """The same, to be asked in small letters; corrections keep their capitals.

        What is listed with capitals alone does not touch ``known`` words (*May*, *may*).
        """
        return Lookup(
            (one.lower(), right)
            for one, some in self.corrections.items()
            if one == one.lower() or one.lower() not in known
            for right in some
        )

    @classmethod
    def read(cls, path: str) -> "Lookup":
        """A file with a misspelling, a tab and its correction on each line.

        Raises:
            UserError: no such file, no UTF-8, a line without a tab or with an empty side.
        """
        return cls(_pairs(path))

    def __len__(self) -> int:
        return len(self.corrections)


def _pairs(path: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_lines(path), start=1):
        wrong, _, right = line.partition("\t")
        if not (wrong and right) or "\t" in right:
            raise UserError(
                f"{path}, line {number}: {line!r} is not a misspelling, a tab and its correction"
            )
        yield wrong, right
