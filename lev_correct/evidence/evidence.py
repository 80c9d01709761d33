"""How sure an edit has to be where it stands: what its line and lists of words that exist tell.

A word that is in no list is more often a term than an error. How often depends on its line: in
plain sentences of everyday words it is rather an error, among symbols and rare words rather a term.
Other errors of the text tell nothing: they make no term suspicious.

- a *known misspelling* needs no more than the model's own probability;
- any other edit is judged by a logistic regression on the model's probability, the kind of edit,
  the level of the word in :class:`.KnownWords`, how plain its line is and how plain the text;
- a word that stands several times in the files of one run, spelt alike, is a term.
"""

import math
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import Literal, NamedTuple, Protocol

from rapidfuzz.distance import OSA

from ..ranking.lettering import bare_letters, case_of, looked_up
from ..text.markup import is_shouted, without_markup
from ..text.units import HYPHENS, Span
from ..words.known_words import KnownWords
from .languages import Languages, Word

Kind = Literal["word", "slip", "left out", "put in", "apostrophe", "doubled"]


class Weights(NamedTuple):
    """Of a kind of edit: added to the log-odds, what those of the model count, and each level."""

    prior: float
    model: float
    level: float


#: Fitted on misspellings in running text and 400,000 words of right text. A word written twice is
#: judged by its neighbours alone (:mod:`.spacing`).
WEIGHTS: dict[Kind, Weights] = {
    "word": Weights(-11.0, 0.57, 0.51),
    "slip": Weights(-9.3, 0.25, 0.5),
    "left out": Weights(-13.3, 0.64, 0.2),
    "put in": Weights(-9.4, 0.42, 0.3),
    "apostrophe": Weights(-4.7, 0.69, 0.3),
}
#: What counts of the model's log-odds, at least and at most, and of levels.
CLIPPED, CLIPPED_SLIP, HIGHEST = (-4.0, 8.0), (-4.0, 20.0), 6
#: Of a line: each other word up to so many, their mean log-probability between two bounds, and the
#: share of tokens that are words.
OTHERS, MOST_OTHERS = 0.37, 8
EVERYDAY, RARE_AND_USUAL = 0.11, (-12.0, -6.0)
PLAIN = 7.1
#: The plainness of a text of so many words or more: what the share of its tokens that are words,
#: and the mean log-probability of its known words, count beyond those of other texts. From a bound
#: on it adds to the log-odds, as in letters and essays; in manuals it never does.
WORDS_TELL, TEXT_PLAIN, TEXT_USUAL = 100, (60.0, 0.97), (2.0, -7.8)
EVERYDAY_FROM, IN_EVERYDAY, MOST_IN_EVERYDAY = 1.5, 2.8, 5.5
#: Of an unknown word: no vowel; one letter differs; no consonant does.
NO_VOWEL, ONE_SLIP, SAME_SOUND = -2.4, 0.87, 0.96
#: Of a part of a word with hyphens, in files that are not prose, and of a term of the run.
COMPOUND, NO_PROSE, TERM, TERM_TIMES = -1.0, -1.5, -6.0, 3
#: By how much, in nats, the odds are divided of a word that is written for another one of the
#: lexicon, of an ambiguous misspelling, and of a misspelling that is a name inside a line.
CONFUSED, AMBIGUOUS, NAMED = 0.5, 1.0, 8.0
#: Level of a known word that is not even looked at, and of what may be a name.
LEFT_ALONE, NAME = 7, 4
#: What is added to words, and the level of what has it.
PREFIXES = "anti auto co counter de dis hyper hypo inter intra micro mis multi non over poly post "
PREFIXES += "pre pseudo re semi sub super trans ultra un under"
SUFFIXES = (
    "able al an ation ed er ers es ful ian ic ing ism ist ists ity ize ized less ly ness or s"
)
DERIVED = 3
#: Share of foreign lines, and lines, from which a text is foreign.
FOREIGN_SHARE, FOREIGN_LINES = 0.5, 2
#: Endings of files of prose; a file with another one is not prose.
PROSE = {"", ".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".tex", ".html", ".htm",
         ".po", ".pot", ".srt", ".noisy", ".en"}  # fmt: skip


_NO_JOINERS = str.maketrans("", "", f"'’{HYPHENS}")
_TOKEN = re.compile(r"\S+")
_VOWEL = re.compile("[aeiouy]")
_SILENT = re.compile(r"[aeiouyhw]|(.)(?=\1)")


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

    def rating(self, word: str) -> float:
        """How usual it is: its log-probability, in small letters."""


@dataclass
class Run:
    """What texts of one run share: the lists, and how often unknown words were met."""

    words: Words
    known: KnownWords
    languages: Languages = field(default_factory=Languages)
    met: Counter[str] = field(default_factory=Counter)


class Evidence:
    """Judges the edits of a text, each by its line.

    Args:
        run: what it shares with others.
        path: the name of its file.
    """

    def __init__(self, run: Run, path: str | None = None) -> None:
        self.run = run
        self._is_prose = os.path.splitext(path or "")[1].lower() in PROSE
        self._lines = self._foreign_lines = 0  # of several words
        self._tokens = self._plain = self._known = 0
        self._sum_known = 0.0  # of the log-probabilities of known words

    def read(
        self,
        lines: Sequence[str],
        silent: Sequence[bool],
        places: Sequence[Sequence[Span]],
        counted: bool = False,
    ) -> list[list[Span]]:
        """Where each of the next lines is in another language.

        Args:
            silent: lines that are not read.
            places: where the words of each line are, as of :func:`.units.spans` with ``letters``.
            counted: whether the other words are counted, as all files of the run are read first.
        """
        foreign = []
        for line, skip, line_places in zip(lines, silent, places, strict=True):
            words = [] if skip else self._words_of(line, line_places)
            parts = self.run.languages.foreign(line, words)
            if len(words) >= 3:
                self._lines += 1
                self._foreign_lines += (0, len(line)) in parts
            if counted:
                own = (word for word in words if word.strange and not inside(word.start, parts))
                self.run.met.update(line[word.start : word.end] for word in own)
            if not skip:
                self._count(line, words)
            foreign.append(parts)
        return foreign

    def _count(self, line: str, words: Sequence[Word]) -> None:
        """Counts what tells how plain the text is, none of which is an unknown word."""
        tokens = without_markup(line).split()
        self._tokens += len(tokens)
        self._plain += sum(map(_is_plain, tokens))
        for start, end, strange, misspelt in words:
            if not (strange or misspelt):
                self._known += 1
                self._sum_known += self.run.words.rating(looked_up(line[start:end]))

    @property
    def plainness(self) -> float:
        """What the text as a whole adds to the log-odds of an edit that no list has."""
        if self._known < WORDS_TELL:
            return 0.0
        (weight, usual_share), (other, usual_rating) = TEXT_PLAIN, TEXT_USUAL
        plain = weight * (self._plain / self._tokens - usual_share)
        plain += other * (self._sum_known / self._known - usual_rating)
        return min(max(IN_EVERYDAY * (plain - EVERYDAY_FROM), 0.0), MOST_IN_EVERYDAY)

    def _words_of(self, line: str, places: Sequence[Span]) -> list[Word]:
        words, has_acronyms = [], not is_shouted(line)
        for start, end in places:
            text = line[start:end]
            acronym = has_acronyms and end - start > 1 and text.isupper()
            strange = not acronym and self.run.words.unknown(text)
            words.append(Word(start, end, strange, self.run.words.misspelt(text) > 0))
        return words

    @property
    def foreign(self) -> bool:
        """Whether most of the text is in another language."""
        enough = self._foreign_lines >= FOREIGN_LINES
        return enough and self._foreign_lines > FOREIGN_SHARE * self._lines

    def leaves_alone(self, word: str) -> bool:
        """Whether a word stays, whatever the model says."""
        if self.run.words.misspelt(word) or self.run.words.is_confused(word):
            return False
        return self.run.met[word] >= TERM_TIMES or self._level(word) >= LEFT_ALONE

    def _level(self, word: str) -> int:
        level = max(self.run.known.level(form) for form in _forms(word))
        return level or DERIVED * any(map(self._exists, _stems(word.lower())))

    def _level_of_unknown(self, word: str) -> int:
        return 0 if self.run.words.knows(word) else self._level(word)

    def _exists(self, word: str) -> bool:
        return self.run.words.knows(word) or self.run.known.level(word) >= DERIVED

    def line(self, text: str, places: Sequence[Span]) -> "LineJudge":
        """A judge of the edits of a line; ``places`` as of :meth:`read`."""
        return LineJudge(self, text, places)

    def log_odds(self, kind: Kind, before: str, chance: float) -> float:
        """Of an edit that no list has, wherever it stands; ``chance`` by the model."""
        prior, model, weight = WEIGHTS[kind]
        least, most = CLIPPED_SLIP if kind == "slip" else CLIPPED
        certainty = math.log(max(chance, 1e-9) / max(1 - chance, 1e-9))
        level = min(max(map(self._level_of_unknown, before.split())), HIGHEST)
        term = TERM * (self.run.met[before] >= TERM_TIMES) + NO_PROSE * (not self._is_prose)
        term += self.plainness
        return prior + model * min(max(certainty, least), most) - weight * level + term


class LineJudge:
    """Judges the edits of one line."""

    def __init__(self, text: Evidence, line: str, places: Sequence[Span]) -> None:
        self._text, self._line, self._places = text, line, places

    @cached_property
    def _ratings(self) -> list[float]:
        rating = self._text.run.words.rating
        return [rating(looked_up(self._line[start:end])) for start, end in self._places]

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self._places]

    @cached_property
    def _sum_ratings(self) -> list[float]:
        """Of the first words, by their number."""
        return [*accumulate(self._ratings, initial=0.0)]

    @cached_property
    def _tokens(self) -> tuple[list[int], list[int]]:
        """Where the tokens begin, and how many of the first ones are words."""
        tokens = [*_TOKEN.finditer(without_markup(self._line))]
        plain = accumulate((_is_plain(token[0]) for token in tokens), initial=0)
        return [token.start() for token in tokens], [*plain]

    def _plainness(self, start: int, end: int) -> float:
        """What the rest of the line adds to the log-odds of an edit."""
        starts = self._starts
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1)
        first, count = max(first, 0), len(self._places)
        others = count - (last - first)
        sums = self._sum_ratings
        lowest, highest = RARE_AND_USUAL
        usual = (sums[-1] - sums[last] + sums[first]) / others if others else lowest
        begins, plain = self._tokens
        left, right = bisect_right(begins, start) - 1, bisect_right(begins, end - 1)
        rest = len(begins) - (right - left)
        words = plain[-1] - plain[right] + plain[left]
        share = words / rest if rest else 0.0
        usual = min(max(usual, lowest), highest)
        return OTHERS * min(others, MOST_OTHERS) + EVERYDAY * usual + PLAIN * share

    def probability(
        self, start: int, before: str, after: str, chance: float, in_compound: bool = False
    ) -> float:
        """Of an edit of a word, all told.

        Args:
            start: where it begins.
            chance: by the model, in [0, 1].
            in_compound: whether the word is a part of one with hyphens.
        """
        words = self._text.run.words
        end = start + len(before)
        if listed := words.misspelt(before):
            return behind_bar(chance, self._bar_of_name(start, end) + AMBIGUOUS * (listed > 1))
        if words.is_confused(before):
            return behind_bar(chance, CONFUSED)
        word, other = before.lower(), after.lower()
        odds = self._text.log_odds("word", before, chance) + self._plainness(start, end)
        odds += NO_VOWEL * (not _VOWEL.search(word)) + COMPOUND * in_compound
        odds += ONE_SLIP * (OSA.distance(word, other) == 1)
        odds += SAME_SOUND * (_SILENT.sub("", word) == _SILENT.sub("", other))
        return 1 / (1 + math.exp(-odds))

    def _bar_of_name(self, start: int, end: int) -> float:
        """What speaks against an edit of a listed misspelling, in nats."""
        level = self._text.run.known.level(self._line[start:end].lower())
        is_name = level >= NAME and not is_shouted(self._line)
        return NAMED * (is_name and case_of(self._line, start, end) == "name")

    def respaced(self, start: int, before: str, after: str, chance: float) -> float:
        """Of a change of spaces or apostrophes in a word or two, or of a slip, all told."""
        kind = kind_of(before, after)
        end = start + len(before)
        if kind == "doubled":
            return chance
        if len(before.split()) == 1 and self._text.run.words.misspelt(before):
            return behind_bar(chance, self._bar_of_name(start, end))
        odds = self._text.log_odds(kind, before, chance) + self._plainness(start, end)
        return 1 / (1 + math.exp(-odds))


def kind_of(before: str, after: str) -> Kind:
    """The kind of a change of spaces or apostrophes in a word or two, or of a slip."""
    words, spaced = len(before.split()), len(after.split())
    differ = bare_letters(before) != bare_letters(after)
    if words == 1:
        return "left out" if spaced > 1 else "slip" if differ else "apostrophe"
    return "doubled" if spaced == 1 and differ else "put in"


def behind_bar(chance: float, bar: float) -> float:
    """A probability whose odds are divided by ``exp(bar)``."""
    return chance / (chance + max(1 - chance, 1e-9) * math.exp(bar))


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


def inside(place: int, parts: Sequence[Span]) -> bool:
    """Whether a character is in one of several parts of a line, in order."""
    number = bisect_right(parts, place, key=itemgetter(0)) - 1
    return number >= 0 and place < parts[number][1]
