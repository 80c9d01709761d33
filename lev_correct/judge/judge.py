"""Judges: how probable an edit is where it stands, by what its text tells besides the model.

A probability goes from the model to the text in this order:

1. a temperature makes it come true as often as it says (:func:`calibrated`);
2. the text's judge has its say: :meth:`.Corrector.judge` chooses which one a text has. It is given
   the lines in order (``foreign_parts``), then asked for each line's edits (``line(…)``):

   - :class:`Judge`: the model's word is taken;
   - :class:`Evidence`: lists of known words, and weights that were learnt, tell. A word that is in
     no list is more often a term than an error. How often depends on the word and its line. A
     logistic regression for each kind of edit says so, by the features of :mod:`.features`; its
     weights were learnt by ``examples/spelling_and_ocr/fit_judge.py``;

3. of changes that touch the same text the likeliest is kept (:func:`.likeliest`);
4. it is compared with the least that the text asks for; of a misspelling that is sure to be one the
   word need not be (:func:`of_error`): it is reported then.
"""

import math
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal, NamedTuple

from rapidfuzz.distance import OSA

from ..files.markup import is_shouted
from ..propose.backend import Backend
from ..text.units import Span, letters_only
from ..words.lexicon import RARE_OR_WRONG, SPELLED, KnownWords
from .features import LEFT_ALONE, NOT_THE_FIRST, SHORT, LineFeatures, Weights
from .languages import Languages, Word

_LARGEST = 700.0  # whose exponential is finite
#: What an edit does: to a word of a line, one that is alone in its line, that is listed as a
#: misspelling, or is written for another one; to spaces or apostrophes.
Kind = Literal["word", "alone", "listed", "confused", "left out", "put in", "apostrophe", "doubled"]
#: How many times as often as its slip the files of a run have a word.
OFTENER = 5
#: Letters of such a slip, at least.
LONG = 6
#: How often the files have the slip, at most.
SLIPS = 3
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?]\s")
#: The words of identifiers (*getFormatedText*, *txtIn*), of three letters or more.
_PART = re.compile("[^\\W\\d_][^\\W\\d_A-Z]{2,}|[A-Z]{3,}")
#: Listed misspellings that tell that a text has errors, at least: a letter with two slips has
#: terms, too.
TELL = 2
#: So many tell it surely,
ENOUGH = 10
#: if they are this share of the words, as in an essay.
MANY = 0.005
#: Kinds of edits of words that a list has.
OF_LISTS = ("listed", "confused")
#: Probability from which on a word that exists is changed for another one, by its neighbours: of
#: 700 sentences of 16 sources none is changed as it is; of the same with a word confused 73 are put
#: right, and 2 get a third word; at 0.7 56 and 1, at 0.3 83 and 3.
ANOTHER_WORD = 0.55
#: What people say and hardly write.
_SPOKEN = re.compile(r"(?i)\b(?:u[hm]+|erm|hm+|mhm|i i)\b")
#: Words of a transcript for each of these, at most.
SPEECH = 100
#: Characters on each side of a name in which its address is sought.
ADDRESS = 80
#: An address of a name, also as *jhonny at mail.org*.
_OF_ADDRESS = r"(?i)@\S*{0}|{0}\S*(?:@|\W+at\W+\S+\.\w)"
#: What a function is applied to, after it.
_ARGUMENT = re.compile(r" [b-hj-z](?![\w'\u2019.])")
#: A few letters between the gaps of columns.
_CELL = re.compile(r"(?:(?<=\s{3})|(?<=\t)|^)[^\W\d_]{1,3}(?=\s{3}|\t|$)")
#: What is added to words.
PREFIXES = (
    "anti auto co counter de dis hyper hypo inter intra micro mis multi non over poly post pre "
    "pseudo re semi sub super trans ultra un under"
).split()
SUFFIXES = (
    "able al an ation ed er ers es ful ian ic ing ism ist ists ity ize ized less ly ness or s"
).split()
#: Level of a word that has such an affix.
DERIVED = 3
#: Level of what is known as a name alone.
NAME_ALONE = 7
#: Level of the same in small letters in prose (*alon*, *rais*), of more letters than a short tool's
#: (*svn*).
IN_SMALL = 1
#: What makes a term of a term (*functor*, *functorial*, *functoriality*), up to so many of them.
TERM_ENDINGS = "able ation ful ial ian ical ism ist ists ity ize ized less ness".split()
MOST_ENDINGS = 2
#: Share of foreign lines from which a text is foreign.
FOREIGN_SHARE = 0.5
#: Foreign lines of such a text, at least.
FOREIGN_LINES = 2
#: Endings of files of prose; a file with another one is not prose.
PROSE = {"", ".txt", ".text", ".md", ".markdown", ".mdx", ".rst", ".adoc", ".asciidoc", ".org",
         ".tex", ".html", ".htm", ".po", ".pot", ".srt", ".noisy", ".en"}  # fmt: skip


class Judge:
    """Takes the model's word; base of the others."""

    #: So far, of the text, without empty ones.
    lines_read = 0
    #: Whether most of the text is in another language.
    foreign = False
    #: Words of which it told what the files of the run tell.
    asked: Iterable[str] = ()
    #: What an edit replaces → the terms of its log-odds by name, in nats.
    why: Mapping[Span, Mapping[str, float]] = {}

    def foreign_parts(
        self,
        lines: Sequence[str],
        places: Sequence[Sequence[Span]],
    ) -> Sequence[Sequence[Span]]:
        """Returns where each of the next lines that are read is in another language.

        Args:
            places: where the words of each line are, as of :func:`units.spans` with ``letters``.
        """
        return [()] * len(lines)

    def survey(self, lines: Iterable[str]) -> None:
        """Counts the words of the files of a run, their code's too, before any is corrected."""

    def leaves_alone(self, word: str) -> bool:
        """Returns whether a word stays, whatever the model says."""
        return False

    def met_oftener(self, word: str) -> tuple[str, ...]:
        """Returns words of the run's files of which a word that no list has may be a slip."""
        return ()

    def line(self, text: str, places: Sequence[Span]) -> "Judge | LineJudge":
        """Returns a judge of the edits of a line; ``places`` as of :meth:`foreign_parts`."""
        return self

    def probability(self, start: int, before: str, after: str, chance: float) -> float:
        """Returns that of an edit, by all that is known.

        Args:
            start: where it begins.
            chance: by what proposed it, in [0, 1].
        """
        return chance


class Measured(NamedTuple):
    """An edit of a line, and what tells of it."""

    line: str
    start: int
    before: str
    after: str
    kind: Kind
    features: Mapping[str, float]


@dataclass
class Run:
    """Holds what texts of one run share: the lists, and how often unknown words were met."""

    words: Backend
    known: KnownWords
    weights: Weights
    languages: Languages = field(default_factory=Languages)
    met: Counter[str] = field(default_factory=Counter)  # in small letters
    #: Words met often, by what is left of them when a letter inside is deleted, or none.
    often: dict[str, list[str]] = field(default_factory=dict)
    measured: "list[Measured] | None" = None  # edits, which then are not judged

    def set_often(self) -> None:
        """Notes which of the words that were met are met often."""
        for word, times in self.met.items():
            if times >= OFTENER and len(word) >= LONG - 1:
                for part in _without_a_letter(word):
                    self.often.setdefault(part, []).append(word)


class Evidence(Judge):
    """Judges the edits of a text, each by its line.

    Args:
        run: what it shares with others.
        path: the name of its file.
    """

    def __init__(self, run: Run, path: str | None = None) -> None:
        self.run = run
        self.is_prose = os.path.splitext(path or "")[1].lower() in PROSE
        self._lines = self._foreign_lines = 0  # of several words
        self._read = self._misspelt = 0  # words; listed ones in small letters
        self._spoken = 0  # what a writer leaves out
        self.asked: set[str] = set()

    def foreign_parts(
        self,
        lines: Sequence[str],
        places: Sequence[Sequence[Span]],
    ) -> list[list[Span]]:
        """See :class:`.Judge`."""
        foreign = []
        for line, line_places in zip(lines, places, strict=True):
            parts = list[Span]()
            foreign.append(parts)
            words = self._words_of(line, line_places)
            parts += self.run.languages.foreign(line, words)
            if len(line_places) >= 3:
                self._lines += 1
                self._foreign_lines += (0, len(line)) in parts
            if parts:
                continue
            self._read += len(line_places)
            self._spoken += len(_SPOKEN.findall(line))
            listed = (line[start:end] for start, end, _, misspelt in words if misspelt)
            self._misspelt += sum(map(str.islower, listed))
        return foreign

    def survey(self, lines: Iterable[str]) -> None:
        """See :class:`.Judge`; a sentence that stands there twice, as of a copied page, counts
        once."""
        run, seen = self.run, set[int]()
        run.often.clear()
        for line in dict.fromkeys(map(str.strip, lines)):
            for sentence in _SENTENCE_END.split(line):
                words = hash(tuple(_WORD.findall(sentence.lower())))
                if words not in seen:
                    seen.add(words)
                    run.met.update(map(str.lower, _PART.findall(sentence)))

    @property
    def is_typed(self) -> bool:
        """Returns whether the text is one line: people type more errors than they keep in files."""
        return self.lines_read == 1

    @property
    def is_speech(self) -> bool:
        """Returns whether the text is what somebody said, who says words twice."""
        return self._spoken * SPEECH > self._read

    @property
    def errors(self) -> float:
        """Returns how much the text's listed misspellings tell that it has errors, up to 1."""
        if self._misspelt < TELL:
            return 0.0
        return min(self._misspelt / ENOUGH, 1.0) * min(self._misspelt / self._read / MANY, 1.0)

    def _words_of(self, line: str, places: Sequence[Span]) -> list[Word]:
        """Returns the words of a line; none where all of them are right."""
        unknown, misspelt = self.run.words.unknown, self.run.words.misspelt
        texts = [line[start:end] for start, end in places]
        if not (any(map(unknown, texts)) or any(map(misspelt, texts))):
            return []
        words = []
        has_acronyms = not is_shouted(line)
        for place, text in zip(places, texts, strict=True):
            is_acronym = has_acronyms and text.isupper() and len(text) > 1
            is_strange = not is_acronym and unknown(text)
            words.append(Word(*place, is_strange, bool(misspelt(text))))
        return words

    @property
    def foreign(self) -> bool:  # type: ignore[override]
        """Returns whether most of the text is in another language."""
        enough = self._foreign_lines >= FOREIGN_LINES
        return enough and self._foreign_lines > FOREIGN_SHARE * self._lines

    def leaves_alone(self, word: str) -> bool:
        """See :class:`.Judge`."""
        # in source trees 4 confused words were corrected rightly, 9 wrongly; 0 and 3 short ones
        if self.run.words.is_confused(word):
            return not self.is_prose
        if self.run.known.level(word.lower()) == SPELLED:
            return True
        if self.run.words.misspelt(word):
            return False
        if not self.is_prose and len(word) <= SHORT:
            return True
        return self.is_term(word) or self._level(word) >= LEFT_ALONE

    def level(self, words: str) -> int:
        """Returns that of the word among several which is surest to be meant so, but for those of
        the lexicon."""
        return max(0 if self.run.words.knows(word) else self._level(word) for word in words.split())

    def _level(self, word: str) -> int:
        level, small = max(map(self.run.known.level, _forms(word))), word.lower()
        if level == RARE_OR_WRONG:
            return LEFT_ALONE
        if level == NAME_ALONE and word == small and self.is_prose and len(word) > SHORT:
            level = IN_SMALL
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

    def is_term(self, word: str) -> bool:
        """Returns whether a word, or one of two that no list has, returns in the files of the run,
        be it in code or as one of several."""
        self.asked.add(word)
        small = word.lower()
        forms = [*small.split(), *small.removesuffix("s").split()]  # *dtype*, *dtypes*
        strange = [form for form in forms if not self.run.words.knows(form)] or [small]
        returns = [form for form in strange if self.run.met[form] > 1]
        return not all(self.met_oftener(form) for form in returns)

    def met_oftener(self, word: str) -> tuple[str, ...]:
        """See :class:`.Judge`: not of its ends, which tell one name from another (*nnodes*,
        *nodex*)."""
        self.asked.add(word)
        run, small = self.run, word.lower()
        count = run.met[small]
        if len(small) < LONG or not 0 < count <= SLIPS:
            return ()
        if run.known.level(small) or run.words.knows(word):
            return ()
        if not run.often:
            run.set_often()
        near = set[str]()
        for part in _without_a_letter(small):
            near.update(run.often.get(part, ()))
        return tuple(
            other
            for other in sorted(near)
            if run.met[other] >= OFTENER * count and _has_its_ends(small, other)
        )


class LineJudge:
    """Judges the edits of one line, and says why."""

    def __init__(self, text: Evidence, line: str, places: Sequence[Span]) -> None:
        self._text, self.line, self._places = text, line, places
        self.features = LineFeatures(text, text.run.words, line, places)
        #: What an edit replaces → the terms of its log-odds by name, as it was judged last.
        self.why: dict[Span, Mapping[str, float]] = {}

    def probability(self, start: int, before: str, after: str, chance: float) -> float:
        """See :class:`.Judge`."""
        kind = self.kind_of(before, after)
        if kind == "doubled":  # its neighbours alone tell (:mod:`.spacing`)
            return 0.0 if self._text.is_speech else chance
        if self._is_name_or_code(start, before, kind):
            return 0.0
        if kind not in OF_LISTS and self._text.foreign:
            return 0.0
        features, run = self.features.of(start, before, after, chance), self._text.run
        if run.measured is not None:
            run.measured.append(Measured(self.line, start, before, after, kind, features))
            return chance
        odds, self.why[start, start + len(before)] = run.weights.judged(kind, features)
        return 1 / (1 + math.exp(-odds))

    def _is_name_or_code(self, start: int, word: str, kind: Kind) -> bool:
        """Returns whether what stands around a word says so: an address that has its name, single
        letters that it is applied to (*foldr f z*), the gaps of a table around a few letters."""
        end = start + len(word)
        if word[:1].isupper():
            first = max(start - ADDRESS, 0)
            around = self.line[first : end + ADDRESS]
            address = _OF_ADDRESS.format(re.escape(word))
            return re.search(address, around) is not None
        if kind == "word" and _ARGUMENT.match(self.line, end):
            return True
        is_cell = _CELL.match(self.line, start) is not None
        return is_cell and self.line.strip() != word

    def kind_of(self, before: str, after: str) -> Kind:
        """Returns the kind of an edit."""
        words = self._text.run.words
        if " " not in before and words.misspelt(before):
            return "listed"
        if kind := kind_of_spaces(before, after):
            return kind
        if words.is_confused(before):
            return "confused"
        return "alone" if len(self._places) == 1 else "word"


def kind_of_spaces(before: str, after: str) -> Kind | None:
    """Returns the kind of a change of spaces, apostrophes or a doubled word; None of another."""
    words, others = before.lower().split(), after.lower().split()
    if words == others * 2:
        return "doubled"
    if words == others or letters_only("".join(words)) != letters_only("".join(others)):
        return None
    if len(words) == 1:
        return "left out" if others[1:] else "apostrophe"
    return "put in"


def calibrated(probability: float, temperature: float) -> float:
    """Returns a probability with its log-odds divided by a temperature, which changes no order (Guo
    et al., 2017, "On Calibration of Modern Neural Networks", of two outcomes, right and wrong)."""
    if temperature == 1 or not 0 < probability < 1:
        return probability
    odds = (math.log(probability) - math.log1p(-probability)) / temperature
    return 1 / (1 + math.exp(min(-odds, _LARGEST)))


def of_error(probability: float, terms: Mapping[str, float]) -> float:
    """Returns the probability that an edit's word is wrong, whichever one is meant: its own without
    the term that says which."""
    if not (term := terms.get(NOT_THE_FIRST, 0.0)):
        return probability
    return probability / (probability + (1 - probability) * math.exp(term))


def _without_a_letter(word: str) -> set[str]:
    """Returns a word, and what is left of it without each of its letters but the ends: two words
    with the same ends that are one slip apart share one of these (Garbe, SymSpell)."""
    return {word, *(word[:cut] + word[cut + 1 :] for cut in range(1, len(word) - 1))}


def _has_its_ends(slip: str, word: str) -> bool:
    """Returns whether a word is one slip away from another one with the same ends."""
    if slip[0] != word[0] or slip[-1] != word[-1] or slip[1:] == word:
        return False
    return OSA.distance(slip, word, score_cutoff=1) == 1


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


def inside(place: int, parts: Sequence[Span]) -> bool:
    """Returns whether a character is in one of several parts of a line, in order."""
    number = bisect_right(parts, place, key=itemgetter(0)) - 1
    return number >= 0 and place < parts[number][1]
