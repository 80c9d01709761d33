"""Lists of words: which are near a word, and the features that a change is judged by."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from types import MappingProxyType

import numpy as np

from lev_runtime.text.words import WordEdit, word_edits

from ..text.units import core_of
from ..words.lexicon import (
    Bigrams,
    Confusions,
    Lexicon,
    Lookup,
)
from ..words.near_words import distance
from .spacing import Spacing

#: Where "shape" and "length" are 0: log-probability of a letter, in nats, and letters of a word.
TYPICAL, SHORT = -2.0, 6
#: Letters of an abbreviation at most: in small letters (km), and in capitals (NATO).
ABBREVIATION, ACRONYM = 3, 5
#: A letter that is repeated for emphasis (soooo).
_REPEATED = re.compile(r"(.)\1{2,}")
_DOUBLED, _SILENT = re.compile(r"(.)\1+"), re.compile("[aeiouyhw'’]")
#: Near words at most, of a word that is ranked alone (of 681 learners' errors 508 become right with
#: 4, 6 or 12) and of each unknown one in a line.
NEAR_ALONE, NEAR_IN_LINE = 6, 3
#: Candidates of a line, at most.
MOST = 32
#: Letters of a word that are wrong at most (of 3,414 misspellings 13 have more), and all letters of
#: one that is no chain of symbols or words.
MOST_EDITS, MOST_LETTERS = 5, 40
#: What is remembered of changes, at most.
MOST_KEPT = 100_000


class Vocabulary:
    """Lists as words are looked up in them: alone and in small letters (``by_word``), or in a line,
    with the punctuation and the capitals that they have there."""

    def __init__(
        self,
        by_word: bool,
        lexicon: Lexicon | None = None,
        lookup: Lookup | None = None,
        bigrams: Bigrams | None = None,
        confusions: Confusions = MappingProxyType({}),
    ) -> None:
        self.by_word, self.lexicon, self.lookup, self.bigrams = by_word, lexicon, lookup, bigrams
        self.spelled: Mapping[str, str] = {}  # small letters → as the lexicon has it
        if by_word and self.lookup:
            self.lookup = self.lookup.in_small_letters(self.lexicon or Lexicon({}))
        if by_word and self.lexicon:
            self.lexicon, self.spelled = self.lexicon.in_small_letters()
        #: Words of the lexicon and the bigrams, and others of these that are written for them.
        self.confused: dict[str, tuple[str, ...]] = {}
        if self.lexicon and bigrams:
            met = {word for word in confusions if word in self.lexicon and word in bigrams}
            for word in met:
                others = tuple(other for other in confusions[word] if other in met)
                if others and not self._listed(word):
                    self.confused[word] = others
        #: Those of :data:`.ranking.OF_WORDS`, for a word or several that become others, or stay.
        self.features = lru_cache(MOST_KEPT)(self._measured)
        #: What the table has for a text.
        self.corrections = lru_cache(MOST_KEPT)(self._corrections)

    @cached_property
    def spacing(self) -> Spacing | None:
        """Returns it for words that are ranked one by one, with counts and bigrams."""
        words = self.lexicon
        if not (self.by_word and self.bigrams and words and any(words.counts.values())):
            return None
        return Spacing(words.counts, self.bigrams, words.letters, self.corrections)

    def count(self, word: str) -> float:
        """How often the lexicon has a word, in a line also without punctuation around it or in
        small letters; 0 for what has no letters, −1 if it has not."""
        if self.lexicon is None:
            return -1.0
        if self.by_word:
            small = word.lower()
            forms = [small] if self.spelled.get(small, small) == word else []
        else:
            core = core_of(word)
            forms = [word, core, core.lower()]
        counts = (self.lexicon.counts[form] for form in forms if form in self.lexicon)
        return max(counts, default=-1.0 if any(map(str.isalpha, word)) else 0.0)

    def _corrections(self, text: str) -> tuple[str, ...]:
        """Returns what the table has for a text as it stands, else without punctuation, else in
        small letters, where the lexicon lacks it with its capitals (*Mus*, a noun, for *mus*);
        of several the one that only puts an apostrophe in (*childrens*)."""
        core = text if self._listed(text) else core_of(text)
        corrections = self._listed(core)
        if not corrections and core not in (self.lexicon or ()):
            corrections = tuple(with_case(right, core) for right in self._listed(core.lower()))
        same = [right for right in corrections if right.replace("'", "") == core]
        return tuple(text.replace(core, right, 1) for right in same or corrections)

    def _listed(self, word: str) -> tuple[str, ...]:
        return self.lookup.corrections(word) if self.lookup else ()

    def edits(self, unit: str) -> tuple[list[WordEdit], list[WordEdit]]:
        """Returns what the lists have for the words of a unit: listed, and near ones, the
        nearest first; in a line for words that the lexicon lacks, alone for those not listed."""
        listed: list[WordEdit] = []
        near: list[WordEdit] = []
        for n, word in enumerate(unit.split()):
            corrections = sorted(self.corrections(word))
            listed += [WordEdit(n, n + 1, (text,)) for text in corrections]
            others = () if corrections and self.by_word else self._near(word)
            near += [WordEdit(n, n + 1, (text,)) for text in others]
        return listed, near

    def texts(
        self,
        unit: str,
        written: Iterable[str],
        edits: tuple[Sequence[WordEdit], Sequence[WordEdit]],
        longest: int,
        spelt: Callable[[str], bool],
    ) -> list[str]:
        """Lists what a unit may become, itself first: what the model wrote, single edits of that
        and of the lists (:meth:`edits`), and all of the lists at once; what grows by more than
        ``longest`` letters a word, or of a word is :func:`far`, only where it is listed; of a line
        the first few.

        Args:
            spelt: whether the model can write a text, other than the unit.
        """
        words, (listed, near) = unit.split(), edits
        candidates = dict.fromkeys([unit, *(" ".join(text.split()) for text in written)])
        several = len(words) > 1  # else each text is an edit of the whole
        single: list[WordEdit] = []
        for text in candidates if several else ():
            single += word_edits(words, text.split())
        combinations = [[edit] for edit in dict.fromkeys([*single, *listed, *near])]
        listed_for = Counter(edit.start for edit in listed)
        alone = [edit for edit in listed if listed_for[edit.start] == 1]
        if several:
            nearest = {edit.start: edit for edit in (*reversed(near), *alone)}
            combinations += [alone, [nearest[place] for place in sorted(nearest)]]
        candidates |= dict.fromkeys(edited(words, edits) for edits in combinations)
        limit = len(unit) + longest * len(words)
        of_lists = {edited(words, [edit]) for edit in listed} | {edited(words, alone)}
        plain = without_emphasis(unit) if self.by_word else unit

        def may_stand(text: str) -> bool:
            if text == unit:
                return True
            if self.by_word and listed:  # nothing else, also where the model cannot spell it
                return text in of_lists
            is_near = 0 < len(text) <= limit and not (self.by_word and far(plain, text))
            return (is_near or text in of_lists) and spelt(text)

        able = filter(may_stand, candidates)
        return list(able if self.by_word else islice(able, MOST))

    def _near(self, word: str) -> Iterable[str]:
        if self.lexicon and self.by_word:
            return self.lexicon.near(without_emphasis(word), NEAR_ALONE)
        if self.lexicon is None or self.count(word) >= 0:
            return ()
        # also those in small letters, with the capitals of the word
        core = core_of(word)
        nearest = self.lexicon.near(core, NEAR_IN_LINE)
        if core != core.lower():
            small = self.lexicon.near(core.lower(), NEAR_IN_LINE)
            nearest = list(dict.fromkeys([*nearest, *(with_case(other, core) for other in small)]))
            nearest.sort(key=lambda other: distance(core, other))
        return [word.replace(core, other, 1) for other in nearest[:NEAR_IN_LINE]]

    def _measured(self, before: str, after: str) -> np.ndarray:
        # a correction of several words is known where all of them are
        count = min(map(self.count, after.split()), default=-1.0)
        is_known = count >= 0
        frequency = math.log1p(count) - self.lexicon.mean_log if is_known and self.lexicon else 0.0
        corrections = self.corrections(before)
        is_listed = after in corrections
        misspellings = self.lookup.times(after) if self.lookup else 0
        # the lexicon's capital counts as an edit where nothing else differs
        small = after.lower() if self.by_word and is_known and after.lower() != before else after
        stays = before == after
        plain = before if stays or not self.by_word else without_emphasis(before)
        edits = distance(plain, small)
        heard = distance(consonants(before), consonants(small)) if edits else 0
        capital = short = False
        shape, letters = 0.0, 0
        if stays:
            capital = before[:1] != before[:1].lower()
            shape = self.lexicon.letters.per_letter(before) - TYPICAL if self.lexicon else 0.0
            letters = len(before) - SHORT
            short = len(before) <= ABBREVIATION and not corrections
        features = [
            is_known or is_listed,
            frequency,
            stays - (not before),
            capital,
            is_listed,
            math.log1p(misspellings),
            edits / max(len(plain), 1),
            heard,
            len(after) - len(plain),
            small[:1] != before[:1],
            small[-1:] != before[-1:],
            shape,
            letters,
            short,
        ]
        return np.array(features, dtype=np.float64)


def changes(words: Sequence[str], edits: Sequence[WordEdit]) -> Iterable[tuple[str, str]]:
    """Each word that stays, with itself, and the words of each edit before and after it."""
    place = 0
    for edit in edits:
        yield from ((word, word) for word in words[place : edit.start])
        yield " ".join(words[edit.start : edit.end]), " ".join(edit.words)
        place = edit.end
    yield from ((word, word) for word in words[place:])


def edited(words: Sequence[str], edits: Sequence[WordEdit]) -> str:
    """A text of words with edits made, which are in order and do not overlap."""
    return " ".join(after for _, after in changes(words, edits) if after)


def far(word: str, other: str) -> bool:
    """Returns whether more differs than of any misspelling, as where a model reads no word."""
    return distance(word, other.lower()) > MOST_EDITS or len(word) > MOST_LETTERS


@lru_cache(MOST_KEPT)
def consonants(text: str) -> str:
    """A text in small letters without its vowels, letters that are often silent, and doublings:
    people write what they hear."""
    if not text.isascii():
        chars = unicodedata.normalize("NFD", text)
        text = "".join(char for char in chars if not unicodedata.combining(char))
    return _DOUBLED.sub(r"\1", _SILENT.sub("", text))


def without_emphasis(word: str) -> str:
    """A word without more than two of a letter in a row (*soo* for *soooo*), unless it is short."""
    return word if len(word) <= ABBREVIATION else _REPEATED.sub(r"\1\1", word)


def with_case(text: str, word: str) -> str:
    """A text with the capitals of a word: none, all, or the first letter's."""
    if len(word) > 1 and word == word.upper() != word.lower():
        return text.upper()
    first = word[:1]
    if first == first.lower():
        return text
    return text[:1].upper() + text[1:]
