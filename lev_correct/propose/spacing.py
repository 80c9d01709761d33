"""Proposes spaces left out, put in or moved, words written twice, and apostrophes left out.

Each proposal is as likely as the others: the text's judge tells which are right (:mod:`.judge`).
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from operator import eq
from typing import NamedTuple

from ..files.markup import case_of, is_shouted
from ..lines import Change
from ..packaged import ENGLISH_SPELLING
from ..text.units import Listed, Span, letters_only, looked_up
from ..words.lexicon import Lexicon
from ..words.ngrams import Bigrams, LetterModel

#: Words of English: those that are met next to any others, other frequent ones, and names of which
#: no word in small letters is as frequent (from SCOWL's lists those that are met 16 times or more
#: in a million words, and others).
ENGLISH = ENGLISH_SPELLING / "english.json"
#: Probability of a proposal before it is judged.
CHANCE = 0.9999999
#: Log-probability of a word that is in no list, less that of its letters.
UNKNOWN = -5.0
#: The least rating of a word.
RAREST = -20.0
#: How many of the most frequent words tell whether a language is English.
MOST_MET = 3
#: In another language common words are those in this share of all pairs.
COMMON = 1 / 1000
#: Letters of a word that is no fragment.
WHOLE = 4
#: Words that right text never, or hardly ever, has twice in a row.
NEVER_TWICE = frozenset(
    "a about an and as at be because but by every for from if in into is it of on or our than the "
    "their they to was we were when with without your".split()
)

Words = tuple[str, ...]


class Slot(NamedTuple):
    """A place of a line: a word, in small letters, and the next one (``""`` for none)."""

    word: str
    following: str
    place: Span
    both: Span | None  # of the two words, where they may be one


class Spacing:
    """Finds what is to be joined, divided or written once in a line.

    Args:
        counts: how often each word is met, in small letters; not all 0.
        bigrams, letters: of the same language.
        listed: the corrections of a listed misspelling, which becomes nothing else.
    """

    def __init__(
        self,
        counts: Mapping[str, float],
        bigrams: Bigrams,
        letters: Lexicon | LetterModel,
        listed: Listed = lambda word: (),
    ) -> None:
        self._counts, self._bigrams, self._letters = counts, bigrams, letters
        self._listed = listed
        self._total = math.log(math.fsum(counts.values()))
        marked = [word for word in counts if "'" in word[1:-1]]
        marked.sort(key=counts.__getitem__)
        #: Without its apostrophe → the most frequent word that has one.
        self._contracted = {word.replace("'", ""): word for word in marked}
        #: Those that are words (*cant*, *wont*), but rarer than their contraction.
        self._negated = dict[str, str]()
        for bare, contraction in self._contracted.items():
            is_rarer = 0 < counts.get(bare, 0) < counts[contraction]
            if is_rarer and contraction.endswith("n't"):
                self._negated[bare] = contraction
        lists = json.loads(ENGLISH.read_text("utf-8"))
        #: Words that are met next to any others.
        self.common = {*" ".join(lists["function"]).split()}
        self._once = {*NEVER_TWICE}
        most = nlargest(MOST_MET, counts, key=counts.__getitem__)
        if not self.common.issuperset(most):  # another language
            self.common = self._once = {*bigrams.common(COMMON)}

    def rating(self, word: str) -> float:
        """Returns how usual a word, in small letters, is in this language: its log-probability."""
        if count := self._counts.get(word, 0.0):
            rating = math.log(count) - self._total
        else:
            rating = UNKNOWN + self._letters.per_letter(word) * (len(word) + 1)
        return max(rating, RAREST)

    def proposed(self, line: str, places: Sequence[Span]) -> Iterator[Change]:
        """Yields what may be joined, divided, written once or with an apostrophe in a line.

        Args:
            places: where its words are, as of :func:`units.spans` with ``letters``.
        """
        for slot in self._slots(line, places):
            others, place = None, slot.place
            if slot.both:
                others, place = self._of_two(slot.word, slot.following), slot.both
            if others is None:
                others, place = self._of_one(slot), slot.place
            if others:
                letters = line[place[0] : place[1]]
                yield Change(*place, as_written(letters, others), CHANCE)

    def _slots(self, line: str, places: Sequence[Span]) -> Iterator[Slot]:
        """Yields the words of a line, but for names and what has a capital inside."""
        words = [looked_up(line[start:end]) for start, end in places]
        if not self._may_change(words):
            return
        is_capital = is_shouted(line)
        cases = ["small" if is_capital else case_of(line, *place) for place in places]
        for number, (start, end) in enumerate(places):
            if cases[number] in ("mixed", "name"):
                continue
            slot = Slot(words[number], "", (start, end), None)
            following = number + 1
            if following < len(words):
                next_start, next_end = places[following]
                slot = slot._replace(following=words[following])
                is_apart = line[end:next_start] == " "
                has_sign = line.startswith("-", max(start - 1, 0))  # *-th row*
                if is_apart and not has_sign and cases[following] == "small":
                    slot = slot._replace(both=(start, next_end))
            yield slot

    def _may_change(self, words: Sequence[str]) -> bool:
        """Returns whether one of a line's words is unknown, a contraction, or stands there twice:
        most lines have none, and take a tenth of the time then."""
        is_odd = any(word not in self._counts or word in self._negated for word in words)
        return is_odd or any(map(eq, words, words[1:]))

    def _of_one(self, slot: Slot) -> Words | None:
        """Returns what a word may be that is in no list, with an apostrophe or as two words; and
        one that is (*cant*) where a verb follows it."""
        word = slot.word
        if self._listed(word):
            return None
        if word in self._counts:
            negated = self._negated.get(word)
            has_verb = bool(slot.following) and self._bigrams.association("to", slot.following) > 0
            return (negated,) if negated and has_verb else None
        contracted = self._contracted.get(word.replace("'", ""), word)
        if contracted != word:
            return (contracted,)
        cuts = range(1, len(word))
        pairs = [pair for pair in ((word[:cut], word[cut:]) for cut in cuts) if self._meet(*pair)]
        return max(pairs, key=self._usual, default=None)

    def _of_two(self, first: str, second: str) -> Words | None:
        """Returns what two words may be: one of them, one word, or with the space elsewhere."""
        if first == second:
            return (first,) if first in self._once else None
        if "'" in first + second or (first in self._counts and second in self._counts):
            return None
        joined = first + second
        if joined in self._counts and min(len(first), len(second)) > 1:
            return (joined,)
        cuts = len(first) - 1, len(first) + 1
        pairs = [(joined[:cut], joined[cut:]) for cut in cuts if 0 < cut < len(joined)]
        able = [pair for pair in pairs if self._meet(*pair)]
        return max(able, key=self._usual, default=None)

    def _are_whole(self, *words: str) -> bool:
        """Returns whether words exist that are no short ones."""
        return all(len(word) >= WHOLE and word in self._counts for word in words)

    def _meet(self, left: str, right: str) -> bool:
        """Returns whether two words may stand next to each other: one of them is common, or none
        is short, or they are listed so."""
        words = left, right
        if left not in self._counts or right not in self._counts:
            return False
        if any(len(word) == 1 and word not in self.common for word in words):
            return False
        has_common = left in self.common or right in self.common
        return has_common or self._are_whole(*words) or self._bigrams.count(left, right) > 0

    def _usual(self, pair: Words) -> float:
        """Returns the log-probability of two words next to each other."""
        return sum(map(self.rating, pair)) + self._bigrams.association(*pair)


def as_written(letters: str, words: Words) -> str:
    """Returns words with the capitals of the letters that stand there."""
    parts, rest = [], iter(letters_only(letters))
    for word in words:
        text = "".join(mark if mark == "'" else next(rest) for mark in word)
        parts.append(text.capitalize() if word.split("'")[0] == "i" else text)
    return " ".join(parts)
