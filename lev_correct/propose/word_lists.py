"""Lists of words: which are near a word, and the features that a change is judged by."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType

import numpy as np

from ..text.units import core_of
from ..words.lexicon import (
    Bigrams,
    Confusions,
    Lexicon,
    Lookup,
    distance,
)
from .spacing import Spacing

#: Where "shape" and "length" are 0: log-probability of a letter, in nats, and letters of a word.
TYPICAL, SHORT = -2.0, 6
#: Letters of an abbreviation at most: in small letters (km), and in capitals (NATO).
ABBREVIATION, ACRONYM = 3, 5
#: A letter that is repeated for emphasis (soooo).
_REPEATED = re.compile(r"(.)\1{2,}")
_DOUBLED, _SILENT = re.compile(r"(.)\1+"), re.compile("[aeiouyhw'’]")
#: Near words at most (of 681 learners' errors 508 become right with 4, 6 or 12).
NEAR = 6
#: Letters of a word that are wrong at most (of 3,414 misspellings 13 have more), and all letters of
#: one that is no chain of symbols or words.
MOST_EDITS, MOST_LETTERS = 5, 40
#: What is remembered of changes, at most.
MOST_KEPT = 100_000


class WordLists:
    """Lists as words are looked up in them: in small letters."""

    def __init__(
        self,
        lexicon: Lexicon | None = None,
        lookup: Lookup | None = None,
        bigrams: Bigrams | None = None,
        confusions: Confusions = MappingProxyType({}),
    ) -> None:
        self.lexicon, self.bigrams = lexicon, bigrams
        self.lookup = lookup and lookup.in_small_letters(lexicon or Lexicon({}))
        self.spelled: Mapping[str, str] = {}  # small letters → as the lexicon has it
        if lexicon:
            self.lexicon, self.spelled = lexicon.in_small_letters()
        #: Words of the lexicon and the bigrams, and others of these that are written for them.
        self.confused: dict[str, tuple[str, ...]] = {}
        if self.lexicon and bigrams:
            met = {word for word in confusions if word in self.lexicon and word in bigrams}
            for word in met:
                others = tuple(other for other in confusions[word] if other in met)
                if others and not self._listed(word):
                    self.confused[word] = others
        #: Those of :data:`.ranking.OF_WORDS`, for a word that becomes another text, or stays.
        self.features = lru_cache(MOST_KEPT)(self._measured)
        #: What the table has for a text.
        self.corrections = lru_cache(MOST_KEPT)(self._corrections)

    @cached_property
    def spacing(self) -> Spacing | None:
        """Returns it where there are counts and bigrams."""
        words = self.lexicon
        if not (self.bigrams and words and any(words.counts.values())):
            return None
        return Spacing(words.counts, self.bigrams, words.letters, self.corrections)

    def count(self, word: str) -> float:
        """How often the lexicon has a word; 0 for what has no letters, −1 if it has not."""
        if self.lexicon is None:
            return -1.0
        small = word.lower()
        if self.spelled.get(small, small) == word and small in self.lexicon:
            return self.lexicon.counts[small]
        return -1.0 if any(map(str.isalpha, word)) else 0.0

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

    def texts(
        self, word: str, written: Iterable[str], longest: int, spelt: Callable[[str], bool]
    ) -> list[str]:
        """Lists what a word may become, itself first: its listed corrections; where it has none,
        what the model wrote, and near words, the nearest first, but for what grows by more than
        ``longest`` letters or is :func:`far`.

        Args:
            spelt: whether the model can write a text.
        """
        if listed := sorted(self.corrections(word)):
            return list(dict.fromkeys([word, *listed]))
        plain = without_emphasis(word)
        near = self.lexicon.near(plain, NEAR) if self.lexicon else ()
        others = [" ".join(text.split()) for text in written]
        limit = len(word) + longest
        able = [
            text
            for text in dict.fromkeys([*others, *near])
            if text != word and 0 < len(text) <= limit and not far(plain, text) and spelt(text)
        ]
        return [word, *able]

    def _measured(self, before: str, after: str) -> np.ndarray:
        # a correction of several words is known where all of them are
        count = min(map(self.count, after.split()), default=-1.0)
        is_known = count >= 0
        frequency = math.log1p(count) - self.lexicon.mean_log if is_known and self.lexicon else 0.0
        corrections = self.corrections(before)
        is_listed = after in corrections
        misspellings = self.lookup.times(after) if self.lookup else 0
        # the lexicon's capital counts as an edit where nothing else differs
        small = after.lower() if is_known and after.lower() != before else after
        stays = before == after
        plain = before if stays else without_emphasis(before)
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
