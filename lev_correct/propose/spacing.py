"""Spaces left out, put in or moved, words written twice, apostrophes left out; a letter's slip in a
short common word or a well-known name.

A noisy channel: of what stands at a place and what may have been meant there, the text is sought
with the highest ``log P(text) + log P(what stands there | text)``, in nats. Words are rated by how
often they are met, those of no list by their letters, neighbours by the bigrams. Capitals stay, and
all letters but for those slips.
"""

import json
import math
import re
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from operator import attrgetter, itemgetter
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA

from ..files.markup import case_of, is_shouted
from ..lines import Change
from ..packaged import ENGLISH_SPELLING
from ..text.units import (
    Listed,
    Span,
    context,
    letters_only,
    looked_up,
    with_case,
)
from ..words.lexicon import Lexicon
from ..words.ngrams import Bigrams, LetterModel

#: Words of English: those that are met next to any others, other frequent ones, and names of which
#: no word in small letters is as frequent (from SCOWL's lists those that are met 16 times or more
#: in a million words, and others).
ENGLISH = ENGLISH_SPELLING / "english.json"
#: Log-probability of a word that is in no list, less that of its letters.
UNKNOWN = -5.0
#: Of a space left out between words of which none, one or both are common; added where what stands
#: there is a word of the list (*cannot*).
LEFT_OUT, OF_WORD = (-15.0, -8.0, -6.0), -8.0
#: Of a space put into a word, also so that two words of the list stand there; of one written a
#: letter too early or too late.
PUT_IN, PUT_IN_WORDS, MOVED = -9.0, -12.0, -9.0
#: Of a word written twice, of an apostrophe left out, and of each other slip of a letter.
DOUBLED, APOSTROPHE, SLIP = 0.0, -4.0, -10.5
#: Of a slip in a common word, and in a name, the longest word that is taken for a common one.
SLIP_OF_COMMON, SLIP_OF_NAME, SHORT = -7.5, -7.0, 5
#: Of writing two words as one on purpose (*toolchain*), where none of them is common.
COMPOUND = -21.0
#: Added where no word is next to it, and for a pair of neighbours that is not listed.
ALONE, NOT_LISTED = -3.0, -1.0
#: Where so many of the most frequent words are not English, common ones are those in this share of
#: all pairs.
MOST_MET, COMMON = 3, 1 / 1000
#: An apostrophe inside a word, of many on a line each.
_INSIDE = re.compile(r"'(?<!\n')(?!\n)")
#: Log-probability from which on a letter is a word.
LETTER = -6.0
#: Letters of a word, of which both halves of another may be without being common; log-probability
#: of a shorter half (of the words of two and three letters, 800 are rarer: mostly abbreviations).
WHOLE, USUAL = 4, -12.0
RAREST = -20.0
#: Probability from which on spaces are changed.
SURE = 0.8
#: Letters of a word in which spaces are sought, at most.
LONGEST = 40
MOST_KEPT = 100_000
#: Words that right text never, or hardly ever, has twice in a row.
NEVER_TWICE = frozenset(
    "a about an and as at be because but by every for from if in into is it of on or our than the "
    "their they to was we were when with without your".split()
)

Words = tuple[str, ...]


class Slot(NamedTuple):
    """A word of a line, or two with a space between them, as they are looked up; the words next to
    them (``""`` for none), the :func:`.case_of` the first."""

    words: Words
    left: str
    right: str
    case: str


class Option(NamedTuple):
    """Words that may have been meant; the log-probability of writing what stands there for them."""

    words: Words
    price: float


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
        self._lines = lines = "\n".join(["", *counts, ""])
        self._set_common_words()
        marked = dict.fromkeys(
            lines[lines.rfind("\n", 0, mark.start()) + 1 : lines.find("\n", mark.end())]
            for mark in _INSIDE.finditer(lines)
        )
        contracted = sorted(marked, key=counts.__getitem__)
        #: Without its apostrophe → the most frequent word that has one.
        self._contracted = {word.replace("'", ""): word for word in contracted}
        #: What an infinitive follows, which may be known words without their apostrophe (*dont*).
        self._negated = {
            contraction
            for bare, contraction in self._contracted.items()
            if contraction.endswith("n't") and 0 < counts.get(bare, 0) < counts[contraction]
        }
        self.word = lru_cache(MOST_KEPT)(self._word)
        self._options = lru_cache(MOST_KEPT)(self._options_of)
        self._best = lru_cache(MOST_KEPT)(self._best_of)

    def _set_common_words(self) -> None:
        """Sets the common words, those of them that are written once, and what slips are made in:
        by lists of English where its words are the most frequent, else by the bigrams."""
        lists = json.loads(ENGLISH.read_text("utf-8"))
        function, frequent, names = (" ".join(lines).split() for lines in lists.values())
        most = nlargest(MOST_MET, self._counts.values())
        if most == nlargest(MOST_MET, (self._counts.get(word, 0.0) for word in {*function})):
            self._common, self._once = {*function}, NEVER_TWICE
            frequent += function
        else:
            self._common = self._bigrams.common(COMMON)
            self._once, frequent, names = frozenset(self._common), [*self._common], []
        self._frequent = sorted({*frequent} & self._counts.keys())
        self._names = sorted({*map(str.lower, names)} & self._counts.keys())

    # how probable a text is -----------------------------------------------------------------------

    def _word(self, word: str) -> float:
        """Returns the log-probability of a word in small letters."""
        if count := self._counts.get(word, 0.0):
            return math.log(count) - self._total
        return UNKNOWN + self._letters.per_letter(word) * (len(word) + 1)

    def _text(self, words: Words, slot: Slot) -> float:
        """Returns the log-probability of words at a place."""
        beside = [*filter(None, (slot.left, *words, slot.right))]
        return sum(map(self.word, words)) + sum(map(self._pair, beside, beside[1:]))

    def _pair(self, left: str, right: str) -> float:
        if left in self._negated:
            return self._bigrams.association("to", right)
        if "'" in left + right:
            return 0.0
        listed = self._bigrams.count(left, right) > 0
        return self._bigrams.association(left, right) + (0 if listed else NOT_LISTED)

    def rating(self, word: str) -> float:
        """Returns how usual a word, in small letters, is in this language."""
        return max(self.word(word), RAREST)

    # what may have been meant ---------------------------------------------------------------------

    def _options_of(self, words: Words, case: str) -> tuple[Option, ...]:
        """Returns those of one word, or of two next to each other; ``case``: of the first one."""
        if max(map(len, words)) > LONGEST:
            return ()
        if len(words) > 1:
            return tuple(self._of_two(*words))
        (word,) = words
        options = [] if case == "name" else [*self._of_one(word)]
        listed = self._listed(word)
        options = options or [*self._slips(word, case)]
        return tuple(option for option in options if not listed or " ".join(option.words) in listed)

    def _slips(self, word: str, case: str) -> Iterator[Option]:
        """Yields what a word is a letter away from that is in no list, where spaces explain
        nothing."""
        if word in self._counts or not word.isascii() or "'" in word:
            return
        lists = []
        if case != "small":
            lists.append((self._names, SLIP_OF_NAME if case == "name" else SLIP))
        if case != "name" and 1 < len(word) <= SHORT:
            lists.append((self._frequent, SLIP_OF_COMMON))
        for others, price in lists:
            found = process.extract(
                word, others, scorer=OSA.distance, score_cutoff=1, processor=None, limit=None
            )
            yield from (Option((other,), price) for other, _, _ in found)

    def _of_one(self, word: str) -> Iterator[Option]:
        known = word in self._counts
        contraction = self._contracted.get(word.replace("'", ""), word)
        if contraction != word and (not known or contraction in self._negated):
            yield Option((contraction,), APOSTROPHE)
        for cut in range(1, len(word)):
            pair = word[:cut], word[cut:]
            if self._side_by_side(*pair):
                common = sum(part in self._common for part in pair)
                yield Option(pair, LEFT_OUT[common] + OF_WORD * known)

    def _of_two(self, first: str, second: str) -> Iterator[Option]:
        if "'" in first + second:
            return
        if first == second:
            if first in self._once:
                yield Option((first,), DOUBLED)
            return
        joined = first + second
        both = first in self._counts and second in self._counts
        if joined in self._counts and min(len(first), len(second)) > 1:
            yield Option((joined,), PUT_IN_WORDS if both else PUT_IN)
        for cut in () if both else (len(first) - 1, len(first) + 1):
            pair = joined[:cut], joined[cut:]
            if self._side_by_side(*pair):
                yield Option(pair, MOVED)

    def _side_by_side(self, left: str, right: str) -> bool:
        """Returns whether two parts are words that are listed so, or none is short, or one is
        common and no short one is rare (*wen were*)."""
        if not (self._stands(left) and self._stands(right)):
            return False
        listed = self._bigrams.count(left, right) > 0
        common = [part in self._common for part in (left, right)]
        if len(left + right) < WHOLE:
            return all(common)
        if len(left) >= WHOLE <= len(right):
            return True
        usual = all(len(part) >= WHOLE or self.word(part) >= USUAL for part in (left, right))
        return listed or (any(common) and usual)

    def _stands(self, word: str) -> bool:
        return word in self._counts and (len(word) > 1 or self.word(word) >= LETTER)

    # choosing -------------------------------------------------------------------------------------

    def proposed(
        self, line: str, places: Sequence[Span], wanted: Sequence[Change]
    ) -> Iterator[Change]:
        """Yields what is to be joined, divided, written once or with an apostrophe in a line, with
        its probability by the words alone.

        Args:
            places: where its words are, as of :func:`.units.spans` with ``letters``.
            wanted: the changes of single words that a model wants.
        """
        model = {(start, end): after for start, end, after, _ in wanted}
        for at, slot in self._slots(line, places):
            written = [line[start:end] for start, end in at]
            meant = tuple(model.get(place, text) for place, text in zip(at, written))
            best, chance = self._best(slot, tuple(map(looked_up, meant)))
            is_listed = any(map(self._listed, slot.words))
            if not best or (chance < SURE and (is_listed or not has_letters_of(slot.words, best))):
                continue  # a model and a list know more words
            yield Change(at[0][0], at[-1][1], as_written("".join(written), best), chance)

    def _slots(self, line: str, places: Sequence[Span]) -> Iterator[tuple[Sequence[Span], Slot]]:
        """Yields what may be respaced in a line, and where it is: words without a capital inside,
        and pairs of them with one space between."""
        words = [looked_up(line[start:end]) for start, end in places]
        shouted, is_known = is_shouted(line), [*map(self._counts.__contains__, words), False]
        for first, last in ((n, end) for n in range(len(words)) for end in (n, n + 1)):
            slot_words, slot_places = tuple(words[first : last + 1]), places[first : last + 1]
            both = is_known[first] and is_known[last] and len({*slot_words}) > 1
            if both and "".join(slot_words) not in self._counts:
                continue  # nearly all pairs
            # with a first capital a word has all options
            if last == len(words) or not self._options(slot_words, "first"):
                continue
            start, end = slot_places[0]
            has_space = line[end : slot_places[-1][0]] == " "
            case, *others = ["small" if shouted else case_of(line, *at) for at in slot_places]
            if case == "mixed" or (others and not (has_space and others == ["small"])):
                continue
            if others and line.startswith("-", max(start - 1, 0)):  # i-th row
                continue
            if not self._options(slot_words, case):
                continue
            left, right = context(line, places, first)[0], context(line, places, last)[1]
            if last > first and max(map(len, (*slot_words, left, right))) < 2:
                continue  # letters among letters, as in a picture of signs
            yield slot_places, Slot(slot_words, left, right, case)

    def _best_of(self, slot: Slot, meant: Words) -> tuple[Words | None, float]:
        """Returns the best of what may have been meant, and its probability; None where the words
        as they are, or what a model made of them, are more probable."""
        rated: list[tuple[float, Words | None]] = [(self._text(slot.words, slot), None)]
        options = self._options(slot.words, slot.case)
        if meant != slot.words and meant not in [option.words for option in options]:
            rated.append((self._of_model(slot, meant, options), None))
        is_alone = not (slot.left or slot.right or len({*slot.words}) < len(slot.words))
        for words, price in options:
            text = self._text(words, slot)
            if price == LEFT_OUT[0]:  # two words as one on purpose (*toolchain*)
                rated.append((text + COMPOUND, None))
            rated.append((text + price + ALONE * is_alone, words))
        top, best = max(rated, key=itemgetter(0))
        total = math.fsum(math.exp(score - top) for score, _ in rated)
        return best, 1 / total

    def _of_model(self, slot: Slot, meant: Words, options: Sequence[Option]) -> float:
        """Returns the log-probability that what a model makes of a slot was meant there."""
        slips = sum(map(OSA.distance, slot.words, meant))
        is_slip = options and not has_letters_of(slot.words, options[0].words)
        first_price = options[0].price if is_slip else SLIP
        if "'" in "".join(meant) and has_letters_of(slot.words, meant):
            first_price = APOSTROPHE
        words = tuple(" ".join(meant).split())
        return self._text(words, slot) + first_price + SLIP * (slips - 1)


def has_letters_of(words: Words, others: Words) -> bool:
    """Returns whether two texts differ in spaces, apostrophes and doubled words alone."""
    same = letters_only("".join(words)) == letters_only("".join(others))
    return same or words == others + others


def as_written(letters: str, words: Words) -> str:
    """Returns words with the capitals of the letters that stand there."""
    if len(words) == 1 and not has_letters_of((letters.lower(),), words):  # with a slip
        return with_case(words[0], letters)
    parts, rest = [], iter(letters_only(letters))
    for word in words:
        text = "".join(mark if mark == "'" else next(rest) for mark in word)
        parts.append(text.capitalize() if word.split("'")[0] == "i" else text)
    return " ".join(parts)


def competed(
    line: str,
    wanted: Sequence[Change],
    proposed: Iterable[Change],
    judge: Callable[[int, str, str, float], float] = lambda start, before, after, chance: chance,
) -> tuple[list[Change], list[Change]]:
    """Returns the changes of single words that a model wants in a line, less those that spaces
    explain better; and the changes of spaces.

    Args:
        judge: where a change begins, what stands there and what comes, its probability by what
            proposes it → that in its text.
    """
    chances = {change[:3]: change.probability for change in wanted}
    respaced: list[Change] = []
    for change in proposed:
        start, end, after, chance = change
        if change[:3] not in chances:
            respaced.append(change)
            continue
        if "'" not in after:  # no model takes an apostrophe for a term
            chance = judge(start, line[start:end], after, chance)
        chances[change[:3]] = max(chances[change[:3]], chance)
    kept = disjoint(respaced)
    others = [change._replace(probability=chances[change[:3]]) for change in wanted]
    return [other for other in others if not overlaps(kept, other)], [
        Change(start, end, after, judge(start, line[start:end], after, chance))
        for start, end, after, chance in kept
    ]


def disjoint(changes: Sequence[Change]) -> list[Change]:
    """Returns, of changes that overlap, the longest of the sure ones, else the most probable, in
    order."""

    def rank(change: Change) -> tuple[float, int, float]:
        start, end, _, chance = change
        return min(chance, SURE), end - start, chance

    kept: list[Change] = []
    for change in sorted(changes, key=rank, reverse=True):
        if not overlaps(kept, change):
            insort(kept, change)
    return kept


def overlaps(changes: Sequence[Change], other: Change) -> bool:
    """Returns whether one of disjoint changes, in order, touches what another one touches."""
    number = bisect_right(changes, other.start, key=attrgetter("end"))
    return number < len(changes) and changes[number].start < other.end
