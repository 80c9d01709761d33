"""How sure an edit has to be in a text: what its words tell, and lists of words that exist.

A word that is in no list is more often a term than an error. How often depends on the text: where
many of its other words are known misspellings, or wrong beyond doubt, an unknown one is an error,
too. The odds of an edit are divided by what speaks for the word as it is written:

- a *known misspelling* needs no more than the model's own probability, also where it returns;
- any other word is judged by the share of sure errors among the text's unknown words, the more
  severely the fewer there are, and by the level of the word in :class:`.KnownWords`;
- a word that stands several times, in one or more files of a run, spelt alike, is a term.
"""

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .known_words import KnownWords
from .languages import Languages, Word
from .units import HYPHENS, Span, plain_apostrophes

#: Sure errors for each unknown word: from the first share on all edits are made that the model
#: wants; up to the second one the bar is highest.
CARELESS, CAREFUL = 0.3, 0.05
#: Sure errors and unknown words of which a text is taken to have had so many before it is read.
BEFORE = (0.2, 10.0)
#: By how much the odds of an edit are divided where the bar is highest, in nats; what is added in
#: files that are not prose.
BAR, BAR_OF_CODE = 8.0, 1.5
#: The same for a word that is written for another one of the lexicon, an apostrophe left out, a
#: space left out, a space put in or moved, a word written twice, and a slip of a letter.
CONFUSED, APOSTROPHE, LEFT_OUT, PUT_IN, DOUBLED, SLIPPED = 3.0, 16.0, 6.0, 12.0, 2.5, 24.0
#: What an ambiguous misspelling (several corrections are listed) counts less, in nats.
AMBIGUOUS = 1.0
#: The power of how often an unknown word is met by which the odds are divided, and what is added
#: from so many times on.
REPEATED, TERM, TERM_TIMES = 3.0, 4.0, 3
#: What a part of a word with hyphens is rather a name by.
COMPOUND = 2.0
#: An edit of an unknown word that is a sure error: its probability, where no list knows the word.
SURE = 0.99
#: Level of a known word that is not even looked at where few sure errors are known.
LEFT_ALONE = 4
#: Level of a name, which stays where it has a capital, though it is listed as a misspelling.
NAME = 9
#: What is added to words, and the level of what has it.
PREFIXES = "anti auto co counter de dis hyper hypo inter intra micro mis multi non over poly post "
PREFIXES += "pre pseudo re semi sub super trans ultra un under"
SUFFIXES = (
    "able al an ation ed er ers es ful ian ic ing ism ist ists ity ize ized less ly ness or s"
)
DERIVED = 3
#: Share of foreign lines, and lines, from which a text is foreign.
FOREIGN_SHARE, FOREIGN_LINES = 0.5, 2
#: Share of tokens with digits or symbols from which a text is no prose.
SYMBOLS = 0.3
#: Endings of files of prose; a file with another one is not prose.
PROSE = {"", ".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".tex", ".html", ".htm",
         ".po", ".pot", ".srt", ".noisy", ".en"}  # fmt: skip


_NO_LETTERS = str.maketrans("", "", " '")
_NO_JOINERS = str.maketrans("", "", f"'’{HYPHENS}")


class Words(Protocol):
    """What is known of words: a :class:`.Ranker`."""

    def unknown(self, word: str) -> bool:
        """Whether no list has it, neither as right nor as wrong."""

    def misspelt(self, word: str) -> int:
        """How many corrections are listed for it: 0, 1, or 2 for several."""

    def is_confused(self, word: str) -> bool:
        """Whether it is a word that is written for others."""

    def knows(self, word: str) -> bool:
        """Whether it is right."""


@dataclass
class Run:
    """What texts of one run share: the lists, and how often unknown words were met."""

    words: Words
    known: KnownWords
    languages: Languages = field(default_factory=Languages)
    met: Counter[str] = field(default_factory=Counter)


class Evidence:
    """What a text tells of its words; it is read line by line, then asked.

    Args:
        run: what it shares with others.
        path: the name of its file.
    """

    def __init__(self, run: Run, path: str | None = None) -> None:
        self.run, self._path = run, path
        self._misspelt: set[str] = set()
        self._unknown: set[str] = set()
        self._lines = self._foreign_lines = 0  # of several words
        self._tokens = self._symbols = 0

    def read(
        self, lines: Sequence[str], silent: Sequence[bool], places: Sequence[Sequence[Span]]
    ) -> list[list[Span]]:
        """Where each of the next lines is in another language; the words of the rest are counted,
        but for ``silent`` lines.

        Args:
            places: where the words of each line are, as of :func:`.units.spans` with ``letters``.
        """
        words_of_lines = [*map(self._words_of, lines, places)]
        foreign = [
            [] if skip else self._read(line, words)
            for line, skip, words in zip(lines, silent, words_of_lines, strict=True)
        ]
        if self.foreign:
            for number, (line, words) in enumerate(zip(lines, words_of_lines, strict=True)):
                if self._looks_foreign(line, words):
                    foreign[number] = [(0, len(line))]
        if not self.severity:  # a library takes a few misspelt words for another language's
            pairs = zip(lines, foreign, strict=True)
            foreign = [parts if parts == [(0, len(line))] else [] for line, parts in pairs]
        return foreign

    def _words_of(self, line: str, places: Sequence[Span]) -> list[Word]:
        words = []
        for start, end in places:
            text = line[start:end]
            strange = self.run.words.unknown(text) or self.run.words.misspelt(text) > 0
            words.append(Word(start, end, strange))
        return words

    def _read(self, line: str, words: Sequence[Word]) -> list[Span]:
        parts = self.run.languages.foreign(line, words)
        if len(words) >= 3:
            self._lines += 1
            self._foreign_lines += (0, len(line)) in parts
        tokens = line.split()
        self._tokens += len(tokens)
        self._symbols += len(tokens) - sum(map(_is_plain, tokens))
        own = (word for word in words if word.strange and not _inside(word.start, parts))
        self._count(line[word.start : word.end] for word in own)
        return parts

    def _count(self, strange: Iterable[str]) -> None:
        for word in strange:
            small = word.lower()
            if self.run.words.misspelt(word):
                self._misspelt.add(small)
            else:
                self._unknown.add(word)
                self.run.met[word] += 1

    def _looks_foreign(self, line: str, words: Sequence[Word]) -> bool:
        """Whether a line of a foreign text is foreign, too."""
        strange = sum(word.strange for word in words)
        if not strange:
            return False
        return not self.run.languages.is_english(line, round(strange / len(words), 1))

    @property
    def foreign(self) -> bool:
        """Whether the text is in another language."""
        enough = self._foreign_lines >= FOREIGN_LINES
        return enough and self._foreign_lines > FOREIGN_SHARE * self._lines

    def learn(self, word: str, probability: float) -> None:
        """Counts an edit that the model wants, where it is sure and no list knows the word."""
        sure = probability >= SURE and not self._level(word)
        if sure and word in self._unknown and word == word.lower():
            self._misspelt.add(word)

    @property
    def errors(self) -> float:
        """Sure errors for each unknown word."""
        errors, unknown = BEFORE
        return (len(self._misspelt) + errors) / (len(self._unknown - self._misspelt) + unknown)

    @property
    def severity(self) -> float:
        """From 0, every edit that the model wants, to 1, the highest bar."""
        share = math.log(CARELESS / self.errors) / math.log(CARELESS / CAREFUL)
        return min(max(share, 0.0), 1.0)

    @property
    def _is_prose(self) -> bool:
        ending = os.path.splitext(self._path or "")[1].lower()
        return ending in PROSE and self._symbols < SYMBOLS * self._tokens

    def leaves_alone(self, word: str) -> bool:
        """Whether a word of a careful text stays, whatever the model says."""
        if self.run.words.misspelt(word) or self.run.words.is_confused(word):
            return False
        term = self.run.met[word] >= TERM_TIMES or self._level(word) >= LEFT_ALONE
        return term and self.severity >= 1

    def _level(self, word: str) -> int:
        level = max(self.run.known.level(form) for form in _forms(word))
        return level or DERIVED * any(map(self._exists, _stems(word.lower())))

    def _exists(self, word: str) -> bool:
        return self.run.words.knows(word) or self.run.known.level(word) >= DERIVED

    def probability(self, word: str, chance: float, in_compound: bool = False) -> float:
        """Of an edit of a word, all told.

        Args:
            chance: by the model, in [0, 1].
            in_compound: whether the word is a part of one with hyphens.
        """
        odds = chance / max(1 - chance, 1e-9) * math.exp(-self._against(word, in_compound))
        return odds / (1 + odds)

    def respaced(self, before: str, after: str, chance: float) -> float:
        """Of a change of spaces or apostrophes in a word or two, or of a slip, all told."""
        count = len(before.split())
        bar = 0.0
        if count < len(after.split()):
            bar = max(bar, self._against(before, False))
        is_listed = count == 1 and self.run.words.misspelt(before) > 0
        if not is_listed:
            bar = max(bar, bar_of_change(before, after) * self.severity)
        has_capital = before[:1].isupper() and before != before.upper()
        if has_capital and is_slip(before, after):  # it may be another name
            returns = REPEATED * math.log(max(self.run.met[before], 1))
            bar = max(bar, self._level(before) + returns)
        return behind_bar(chance, bar)

    def _against(self, word: str, in_compound: bool) -> float:
        """What speaks against an edit, in nats."""
        if listed := self.run.words.misspelt(word):
            is_name = word[0].isupper() and self.run.known.level(word.lower()) == NAME
            return BAR * self.severity if is_name else AMBIGUOUS * (listed > 1)
        if self.run.words.is_confused(word):
            return CONFUSED * self.severity
        times = self.run.met[word]
        returns = REPEATED * math.log(max(times, 1))
        highest = BAR + self._level(word) + COMPOUND * in_compound
        highest += BAR_OF_CODE * (not self._is_prose) + TERM * (times >= TERM_TIMES)
        return highest * self.severity + returns


def is_slip(before: str, after: str) -> bool:
    """Whether a change is of the letters of one word."""
    return len(before.split()) == len(after.split()) == 1 and _differ(before, after)


def bar_of_change(before: str, after: str) -> float:
    """By how much, in nats, the odds of a change of spaces or apostrophes, or of a slip, are
    divided where the bar is highest."""
    words, spaced = len(before.split()), len(after.split())
    if is_slip(before, after):
        return SLIPPED
    if words == 1:
        return LEFT_OUT if spaced > 1 else APOSTROPHE
    return DOUBLED if spaced == 1 and _differ(before, after) else PUT_IN


def behind_bar(chance: float, bar: float) -> float:
    """A probability whose odds are divided by ``exp(bar)``."""
    return chance / (chance + max(1 - chance, 1e-9) * math.exp(bar))


def _differ(before: str, after: str) -> bool:
    return bare_letters(before) != bare_letters(after)


def bare_letters(text: str) -> str:
    """A text without spaces and apostrophes."""
    return plain_apostrophes(text).translate(_NO_LETTERS)


def _forms(word: str) -> tuple[str, ...]:
    """A word as lists have it: in small letters, and without what an apostrophe adds."""
    small = word.lower()
    return small, small.partition("'")[0]


def _stems(word: str) -> Iterator[str]:
    """A word in small letters without each ending that it may have, and without what stands in
    front."""
    for ending in SUFFIXES.split():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 3:
            yield from (stem, f"{stem}e")
    for front in PREFIXES.split():
        stem = word.removeprefix(front)
        if stem != word and len(stem) > 3:
            yield stem


def _is_plain(token: str) -> bool:
    """Whether a token is a word, with punctuation around it or hyphens inside."""
    letters = token.strip("\"'“”‘’()[]{},.;:!?…*_").translate(_NO_JOINERS)
    return not letters or letters.isalpha()


def _inside(place: int, parts: Sequence[Span]) -> bool:
    return any(start <= place < end for start, end in parts)
