"""How sure an edit has to be where it stands: what its line and lists of words that exist tell.

A word that is in no list is more often a term than an error. How often depends on its line: in
plain sentences of everyday words it is rather an error, among symbols and rare words rather a term.
Other errors of the text tell nothing: they make no term suspicious.

- a *known misspelling* needs no more than the model's own probability;
- any other edit is judged by a logistic regression for its kind: on the model's probability, the
  level of the word in :class:`.KnownWords`, its letters, its neighbours, how plain its line is and
  how plain the text (:data:`WEIGHTS`); in a line of another language it is not made;
- a word that stands several times in the files of one run, spelt alike, is a term.
"""

import math
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from operator import itemgetter

from rapidfuzz.distance import OSA

from ..propose.backend import Backend
from ..text.markup import case_of, is_shouted, without_markup
from ..text.units import HYPHENS, Span, context, looked_up
from ..words.known_words import KnownWords
from .confidence import times_odds
from .judge import Judge, Kind
from .languages import Languages, Word

#: Of each kind of edit, by name: the log-odds where all features are 0, and what a feature adds to
#: them. Fitted by logistic regression on a half of texts with errors and of right text, and on
#: errors of our own. Words written twice are judged by their neighbours alone (:mod:`.spacing`).
WEIGHTS: dict[Kind, dict[str, float]] = {
    "word": {
        "bias": -5.0, "certain": 0.57, "sure": 0.31, "level": -0.57, "usual": -0.08,
        "simple": 2.67, "unknown": -3.51, "one slip": 1.24, "sound": 0.47, "no vowel": -2.43,
        "short": 2.38, "alone": -0.47, "capital": 0.89, "affix": -1.82, "rare": -0.63,
    },
    "slip": {
        "bias": -0.35, "certain": 0.12, "sure": 0.11, "level": -0.31, "usual": -0.34,
        "simple": 1.52, "unknown": -5.47, "sound": 1.23, "alone": -1.34, "capital": 2.8,
        "affix": -1.25, "fits": 0.78, "rating": 0.8, "name": -1.93,
    },
    "left out": {
        "bias": -7.78, "certain": 0.49, "sure": 0.18, "level": -0.51, "usual": -0.35,
        "simple": 3.53, "unknown": -7.63, "short": 3.68, "alone": -0.7, "capital": 2.99,
        "fits": 0.3, "name": -1.71, "placeholder": -5.23,
    },
    "put in": {
        "bias": -1.67, "certain": 0.31, "sure": 0.21, "level": -0.21, "usual": -0.21,
        "simple": 1.58, "unknown": -5.38, "sound": -1.87, "fits": 0.61, "rating": 0.09,
        "name": -0.55, "exist": -4.5,
    },
    "apostrophe": {"bias": -1.0, "certain": 0.69, "level": -0.3, "alone": -6.0},
}  # fmt: skip
#: What counts of the model's log-odds: as certainty, and beyond its highest; of levels, at most.
CERTAIN, SUREST, HIGHEST = (-4.0, 8.0), 20.0, 6
#: Bounds of the mean log-probability of a line's other words, and of the association of two.
RARE_AND_USUAL, FITS = (-12.0, -6.0), (-4.0, 4.0)
#: Log-probability from which on a word is no rare one; letters of a short one; characters on each
#: side of an edit that tell which language it stands in.
RARE, SHORT, AROUND = -11.0, 3, 200
#: Words that a line has at least which tells its language.
FEW = 5
#: The plainness of a text of so many words or more: what the share of its tokens that are words,
#: and the mean log-probability of its known words, count beyond those of other texts. From a bound
#: on it adds to the log-odds, as in letters and essays; in manuals it never does.
WORDS_TELL, TEXT_PLAIN, TEXT_USUAL = 100, (60.0, 0.97), (2.0, -7.8)
EVERYDAY_FROM, IN_EVERYDAY, MOST_IN_EVERYDAY = 1.5, 3.4, 6.5
#: In files that are not prose, and of a term of the run.
NO_PROSE, TERM, TERM_TIMES = -1.5, -6.0, 3
#: By how much, in nats, the odds are divided of a word that is written for another one of the
#: lexicon, of a misspelling with several corrections that becomes another one than the first, or
#: the first, and of a misspelling that is a name inside a line.
CONFUSED, AMBIGUOUS, NAMED = 0.5, (3.9, 0.0), 8.0
#: Level of a known word that is not even looked at, and of what may be a name.
LEFT_ALONE, NAME = 7, 4
#: What is added to words, and the level of what has it.
PREFIXES = (
    "anti auto co counter de dis hyper hypo inter intra micro mis multi non over poly post pre "
    "pseudo re semi sub super trans ultra un under"
).split()
SUFFIXES = (
    "able al an ation ed er ers es ful ian ic ing ism ist ists ity ize ized less ly ness or s"
).split()
DERIVED = 3
#: What makes a term of a term (*functor*, *functorial*, *functoriality*), up to so many of them.
TERM_ENDINGS = "able ation ful ial ian ical ism ist ists ity ize ized less ness".split()
MOST_ENDINGS = 2
#: Share of foreign lines, and lines, from which a text is foreign.
FOREIGN_SHARE, FOREIGN_LINES = 0.5, 2
#: Endings of files of prose; a file with another one is not prose.
PROSE = {"", ".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".tex", ".html", ".htm",
         ".po", ".pot", ".srt", ".noisy", ".en"}  # fmt: skip


_NO_JOINERS = str.maketrans("", "", f"'’{HYPHENS}")
_TOKEN = re.compile(r"\S+")
_VOWEL = re.compile("[aeiouy]")
_SILENT = re.compile(r"[aeiouyhw]|(.)(?=\1)")
#: A token that is nothing but a word, and what a name that stands for others begins with.
_SIMPLE = re.compile(r"[A-Za-z'’]+[,.;:!?]*")
_PLACEHOLDER = "my"


@dataclass
class Run:
    """Holds what texts of one run share: the lists, and how often unknown words were met."""

    words: Backend
    known: KnownWords
    languages: Languages = field(default_factory=Languages)
    met: Counter[str] = field(default_factory=Counter)


class Evidence(Judge):
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
        """See :class:`.Judge`."""
        foreign = []
        for line, skip, line_places in zip(lines, silent, places, strict=True):
            words = [] if skip else self._words_of(line, line_places)
            parts = self.run.languages.foreign(line, words)
            foreign.append(parts)
            if skip:
                continue
            if len(words) >= 3:
                self._lines += 1
                self._foreign_lines += (0, len(line)) in parts
            tokens = without_markup(line).split()
            self._tokens += len(tokens)
            self._plain += sum(map(_is_plain, tokens))
            for start, end, strange, misspelt in words:
                text = line[start:end]
                if strange and counted and not inside(start, parts):
                    self.run.met[text] += 1
                if not (strange or misspelt):
                    self._known += 1
                    self._sum_known += self.run.words.rating(looked_up(text))
        return foreign

    @property
    def plainness(self) -> float:
        """Returns what the text as a whole adds to the log-odds of an edit that no list has."""
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
            words.append(Word(start, end, strange, bool(self.run.words.misspelt(text))))
        return words

    @property
    def foreign(self) -> bool:  # type: ignore[override]
        """Returns whether most of the text is in another language."""
        enough = self._foreign_lines >= FOREIGN_LINES
        return enough and self._foreign_lines > FOREIGN_SHARE * self._lines

    def leaves_alone(self, word: str) -> bool:
        """See :class:`.Judge`."""
        if self.run.words.misspelt(word) or self.run.words.is_confused(word):
            return False
        return self.run.met[word] >= TERM_TIMES or self._level(word) >= LEFT_ALONE

    def level(self, words: str) -> int:
        """Returns that of the word among several which is surest to be meant so, but for those of
        the lexicon."""
        return max(0 if self.run.words.knows(word) else self._level(word) for word in words.split())

    def _level(self, word: str) -> int:
        level, small = max(map(self.run.known.level, _forms(word))), word.lower()
        if not level and self._is_of_term(small, MOST_ENDINGS):
            return LEFT_ALONE
        return level or DERIVED * any(map(self._exists, _stems(small)))

    def _is_of_term(self, word: str, endings: int) -> bool:
        """Returns whether a word is made of a term with so many endings, at most."""
        stems = [stem for stem, ending in _ended(word) if ending in TERM_ENDINGS]
        return any(self.run.known.level(stem) >= LEFT_ALONE for stem in stems) or (
            endings > 1 and any(self._is_of_term(stem, endings - 1) for stem in stems)
        )

    def _exists(self, word: str) -> bool:
        return self.run.words.knows(word) or self.run.known.level(word) >= DERIVED

    def line(self, text: str, places: Sequence[Span]) -> "LineJudge":
        """See :class:`.Judge`."""
        return LineJudge(self, text, places)

    def least(self, threshold: float, is_spaced: bool) -> float:
        """See :class:`.Judge`: what is judged is sure enough."""
        return threshold

    def of_text(self, word: str) -> float:
        """Returns what a word's text adds to the log-odds of its edits."""
        is_term = self.run.met[word] >= TERM_TIMES
        return TERM * is_term + NO_PROSE * (not self._is_prose) + self.plainness


class LineJudge:
    """Judges the edits of one line."""

    def __init__(self, text: Evidence, line: str, places: Sequence[Span]) -> None:
        self._text, self._line, self._places = text, line, places
        self._words = text.run.words

    @cached_property
    def _others(self) -> dict[str, "Others"]:
        """The other words of the line, and its tokens, as features of an edit."""
        texts = [self._line[start:end] for start, end in self._places]
        starts = [start for start, _ in self._places]
        tokens = [*_TOKEN.finditer(without_markup(self._line))]
        ratings = (self._words.rating(looked_up(text)) for text in texts)
        simple = (bool(_SIMPLE.fullmatch(token[0])) for token in tokens)
        return {
            "usual": Others(starts, ratings, RARE_AND_USUAL[1]),
            "unknown": Others(starts, map(self._words.unknown, texts)),
            "simple": Others([token.start() for token in tokens], simple),
        }

    def _is_english(self, start: int, end: int, after: str) -> bool:
        """Returns whether what stands around an edit, with it, is English; a few words do not
        tell."""
        if len(self._places) < FEW:
            return True
        before, behind = self._line[max(start - AROUND, 0) : start], self._line[end : end + AROUND]
        return self._text.run.languages.is_english(before + after + behind)

    def _features(self, start: int, before: str, after: str, chance: float) -> dict[str, float]:
        """Returns the features of an edit, by name."""
        end = start + len(before)
        certainty = math.log(max(chance, 1e-9) / max(1 - chance, 1e-9))
        others = {name: pieces.mean(start, end) for name, pieces in self._others.items()}
        word, other = looked_up(before), looked_up(after)
        words = other.split()
        first, last = self._others["unknown"].touched(start, end)
        left = context(self._line, self._places, first)[0]
        right = context(self._line, self._places, last - 1)[1]
        pairs = [(left, words[0])] if left else []
        pairs += [(words[-1], right)] if right else []
        level, known = self._text.level(before), [*map(self._words.knows, before.split())]
        rating = sum(map(self._words.rating, words)) / len(words)
        case = case_of(self._line, start, start + len(before.split()[0]))
        has_capital = case in ("first", "name") and not is_shouted(self._line)
        exist = all(known) or (any(known) and level >= (LEFT_ALONE if len(words) == 1 else 1))
        return {
            "bias": 1,
            "certain": between(certainty, *CERTAIN),
            "sure": min(max(certainty, CERTAIN[1]), SUREST) - CERTAIN[1],
            **others,
            "usual": between(others["usual"], *RARE_AND_USUAL),
            "alone": 2 - len(pairs),
            "fits": sum(between(self._words.association(*pair), *FITS) for pair in pairs),
            "level": min(level, HIGHEST),
            "one slip": OSA.distance(word, other) == 1,
            "sound": _SILENT.sub("", word) == _SILENT.sub("", other),
            "no vowel": not _VOWEL.search(word),
            "short": len(word) <= SHORT,
            "capital": has_capital,
            "name": has_capital and level > 0,
            "affix": word.startswith(other) + word.endswith(other),
            "rating": rating,
            "rare": max(RARE - rating, 0) * (level > 0),
            "placeholder": word.startswith(_PLACEHOLDER),
            "exist": exist,
        }

    def probability(
        self, start: int, before: str, after: str, chance: float, kind: Kind = "word"
    ) -> float:
        """See :class:`.OfLine`."""
        if kind == "doubled":
            return chance
        if " " not in before and (listed := self._words.misspelt(before)):
            is_first = _forms(after)[1] == _forms(listed[0])[1]
            bar = AMBIGUOUS[is_first] if len(listed) > 1 else 0.0
            bar += NAMED * self._is_name(start, before)
            return times_odds(chance, math.exp(-bar))
        if kind == "word" and self._words.is_confused(before):
            return times_odds(chance, math.exp(-CONFUSED))
        if not self._is_english(start, start + len(before), after):
            return 0.0
        features = self._features(start, before, after, chance)
        odds = sum(weight * features[name] for name, weight in WEIGHTS[kind].items())
        return 1 / (1 + math.exp(-odds - self._text.of_text(before)))

    def _is_name(self, start: int, word: str) -> bool:
        """Returns whether a listed misspelling may be a name."""
        is_known = self._text.run.known.level(word.lower()) >= NAME and not is_shouted(self._line)
        return is_known and case_of(self._line, start, start + len(word)) == "name"


class Others:
    """Values of the pieces of a line, which begin at ``starts``; ``empty``: the mean of none."""

    def __init__(self, starts: Sequence[int], values: Iterable[float], empty: float = 0.0) -> None:
        self._starts, self._empty = starts, empty
        self._sums = [*accumulate(values, initial=0.0)]

    def touched(self, start: int, end: int) -> Span:
        """Returns the numbers of the first piece that a stretch touches, and of the next one."""
        return max(bisect_right(self._starts, start) - 1, 0), bisect_right(self._starts, end - 1)

    def mean(self, start: int, end: int) -> float:
        """Returns the mean of the pieces that a stretch does not touch."""
        first, last = self.touched(start, end)
        others = len(self._starts) - (last - first)
        rest = self._sums[-1] - self._sums[last] + self._sums[first]
        return rest / others if others else self._empty


def between(value: float, least: float, most: float) -> float:
    """Returns the value, or the bound that it is beyond."""
    return min(max(value, least), most)


def _forms(word: str) -> tuple[str, ...]:
    """A word as lists have it: in small letters, and without what an apostrophe adds."""
    small = word.lower()
    return small, small.partition("'")[0]


def _ended(word: str) -> Iterator[tuple[str, str]]:
    """Stems of a word in small letters, each with the ending that it may have there."""
    for ending in {*SUFFIXES, *TERM_ENDINGS}:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 3:
            yield from ((stem, ending), (f"{stem}e", ending))


def _stems(word: str) -> Iterator[str]:
    """Yields a word in small letters without each ending and each prefix that it may have."""
    yield from (stem for stem, _ in _ended(word))
    for prefix in PREFIXES:
        stem = word.removeprefix(prefix)
        if stem != word and len(stem) > 3:
            yield stem


def _is_plain(token: str) -> bool:
    """Returns whether a token is a word, with punctuation around it or hyphens inside."""
    letters = token.strip("\"'“”‘’()[]{},.;:!?…*_").translate(_NO_JOINERS)
    return not letters or letters.isalpha()


def inside(place: int, parts: Sequence[Span]) -> bool:
    """Returns whether a character is in one of several parts of a line, in order."""
    number = bisect_right(parts, place, key=itemgetter(0)) - 1
    return number >= 0 and place < parts[number][1]
