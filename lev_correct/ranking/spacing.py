"""Spaces left out, put in or moved, words written twice, apostrophes left out; a letter's slip in a
short common word or a well-known name.

A noisy channel: of what stands at a place and what may have been meant there, the text is sought
with the highest ``log P(text) + log P(what stands there | text)``, in nats. Words are rated by how
often they are met, those of no list by their letters, neighbours by the bigrams. Capitals stay, and
all letters but for those slips.
"""

import math
import re
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import OSA

from ..edits import Chance, overlaps
from ..slips import NAMES, Slips
from ..text.markup import is_shouted
from ..text.units import (
    APOSTROPHES,
    HYPHENS,
    Span,
    context,
)
from ..words.lexicon import Bigrams, LetterModel
from .doubled import (
    CLAUSE,
    NEVER_TWICE,
    TWICE_BEHIND_GAPS,
    may_be_twice,
)
from .lettering import (
    Words,
    as_written,
    case_of,
    has_letters_of,
    looked_up,
)

#: Log-probability of a word that is in no list, less that of its letters; with a capital.
UNKNOWN, UNKNOWN_NAME = -5.0, -3.0
#: Of a space left out between words of which none, one or both are common; added where what stands
#: there is a word of the list, and where one of them is a letter.
LEFT_OUT, OF_WORD, OF_LETTER = (-15.0, -8.0, -6.0), -8.0, 2.0
#: Of a space put into a word, also so that two words of the list stand there; of one written a
#: letter too early or too late.
PUT_IN, PUT_IN_WORDS, MOVED = -9.0, -12.0, -9.0
#: Of a word written twice, of an apostrophe left out, and of each other slip of a letter.
DOUBLED, APOSTROPHE, SLIP = 0.0, -4.0, -10.5
#: Of a slip in a common word, and in a name, the longest word that is taken for a common one.
SLIP_OF_COMMON, SLIP_OF_NAME, SHORT = -7.5, -7.0, 5
#: Other words of English that are met in any text.
OTHER_WORDS = (
    "no now new old good best well time year years day days way man men woman women people two "
    "three first last next back get go going went come came make made take see say said know think "
    "use used work like look need want"
).split()
#: Of writing two words as one on purpose (*toolchain*), where none of them is common and no other
#: word of the list begins or ends with them.
COMPOUND = -21.0
#: Added where no word stands beside, and for a pair of neighbours that is not listed.
ALONE, NOT_LISTED = -3.0, -1.0
#: Common words: those of English that are met beside any others, where they have the three most
#: frequent ones, else those in this share of all listed pairs.
FUNCTION_WORDS = (
    "the of and a about after again all also although always am among an another any are as at "
    "be because been before being below between both but by can cannot could did do does during "
    "each either even ever every few for from had has have having he her here hers him his how i "
    "if in into is it its itself just many may me might more most much must my neither never nor "
    "not of off on once one only onto or other our out over own same shall she should since so "
    "some still such than that the their them then there these they this those though through to "
    "too under until up upon us very was we were what when where whether which while who whose why "
    "will with within without would yet you your"
).split()
#: The mark that a quotation begins with.
_OPENS_QUOTE = re.compile(rf"(?<!\w)[{APOSTROPHES}](?:\w|\Z)")
COMMON = 1 / 1000
#: Log-probability from which on a letter, or two, are a word; a letter beside any other.
LETTER, TWO_LETTERS, ARTICLE = -6.0, -15.0, -5.0
#: Letters of a word, of which both halves of another may be without being common.
WHOLE = 4
#: Mean log-probability of the other words of a line, below which it is in another language.
FOREIGN, RAREST = -12.5, -20.0
#: A word with an apostrophe is at least as probable as its first part less this.
OF_STEM = -5.0
#: Probability from which on spaces are changed.
SURE = 0.8
#: A known word that is met so often is not divided.
OFTEN = -12.5
#: Letters of a word in which spaces are sought, at most.
LONGEST = 40
MOST_KEPT = 100_000

#: Where a change begins, what stands there and what comes, its probability → that in its text.
Judge = Callable[[int, str, str, float], float]


class Slot(NamedTuple):
    """A word of a line, or two with a space between them: where they are, as they are looked up,
    the words beside them (``""`` for none), the :func:`case_of` the first."""

    places: tuple[Span, ...]
    words: Words
    left: str
    right: str
    case: str

    @property
    def span(self) -> Span:
        return self.places[0][0], self.places[-1][1]

    @property
    def is_twice(self) -> bool:
        """Whether it is a word written twice."""
        return len(self.words) > 1 and self.words[0] == self.words[1]


class Option(NamedTuple):
    """What may have been meant, and the log-probability of writing what stands there for it."""

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
        letters: LetterModel,
        listed: Callable[[str], Sequence[str]] = lambda word: (),
    ) -> None:
        self._counts, self._bigrams, self._letters = counts, bigrams, letters
        self._listed = listed
        self._total = math.log(math.fsum(counts.values()))
        self._lines = "\n".join(["", *counts, ""])
        self._common = {*FUNCTION_WORDS}
        if not self._common.issuperset(most_frequent(counts, 3)):
            neighbours = Counter(word for pair in bigrams.counts for word in pair)
            least = COMMON * len(bigrams.counts)
            self._common = {word for word, number in neighbours.items() if number >= least}
        marked = (word for word in counts if "'" in word and "'" in word[1:-1])
        contracted = sorted(marked, key=counts.__getitem__)
        #: Without its apostrophe → the most frequent word that has one.
        self._contracted = {word.replace("'", ""): word for word in contracted}
        #: What an infinitive follows, which may be known words without their apostrophe (*dont*).
        self._negated = {
            contraction
            for bare, contraction in self._contracted.items()
            if contraction.endswith("n't") and 0 < counts.get(bare, 0) < counts[contraction]
        }
        is_english = "the" in self._common
        frequent = self._common.union(OTHER_WORDS if is_english else ())
        names = map(str.lower, NAMES if is_english else ())
        #: Common words that are written once.
        self._once = NEVER_TWICE | TWICE_BEHIND_GAPS if is_english else self._common
        self._common_words = Slips(frequent.intersection(counts))
        self._names = Slips(name for name in names if name in counts)
        self._without_pairs = {contraction.replace("'", "") for contraction in self._negated}
        self.word = lru_cache(MOST_KEPT)(self._word)
        self._compound = lru_cache(MOST_KEPT)(self._compounding)
        self._options = lru_cache(MOST_KEPT)(self._found)

    # how probable a text is -----------------------------------------------------------------------

    def _word(self, word: str) -> float:
        """Log-probability of a word in small letters."""
        count = self._counts.get(word, 0.0)
        stem, mark, _ = word.partition("'")
        alone = math.log(count) - self._total if count else -math.inf
        if mark and count:
            return max(alone, self.word(stem) + OF_STEM)
        return alone if count else UNKNOWN + self._letters.per_letter(word) * (len(word) + 1)

    def _text(self, words: Words, slot: Slot) -> float:
        """Log-probability of words at a place."""
        beside = [*filter(None, (slot.left, *words, slot.right))]
        sum_words = sum(map(self.word, words))
        sum_pairs = sum(map(self._pair, beside, beside[1:]))
        return sum_words + sum_pairs

    def _pair(self, left: str, right: str) -> float:
        if left in self._negated:
            return self._bigrams.association("to", right)
        if {left, right} & self._without_pairs or "'" in left + right:
            return 0.0
        listed = (left, right) in self._bigrams.counts
        return self._bigrams.association(left, right) + (0 if listed else NOT_LISTED)

    def rating(self, word: str) -> float:
        """How usual a word, in small letters, is in this language, for :func:`is_foreign`."""
        return max(self.word(word), RAREST)

    # what may have been meant ---------------------------------------------------------------------

    def _found(self, words: Words, case: str) -> tuple[Option, ...]:
        """Of one word, or of two beside each other; ``case``: as of :func:`case_of`, of the first
        one."""
        if max(map(len, words)) > LONGEST:
            return ()
        if len(words) > 1:
            return tuple(self._of_two(*words))
        options = [] if case == "name" else [*self._of_one(*words)]
        options = options or [*self._slips(words[0], case)]
        listed = self._listed(words[0])
        return tuple(one for one in options if not listed or " ".join(one.words) in listed)

    def _slips(self, word: str, case: str) -> Iterator[Option]:
        """Of a word that is in no list, where spaces explain nothing."""
        if word in self._counts or not word.isascii() or "'" in word:
            return
        if case != "small":
            price = SLIP_OF_NAME if case == "name" else SLIP
            yield from (Option((name,), price) for name in self._names.near(word))
        if case != "name" and 1 < len(word) <= SHORT:
            commons = self._common_words.near(word)
            yield from (Option((common,), SLIP_OF_COMMON) for common in commons)

    def _of_one(self, word: str) -> Iterator[Option]:
        known = word in self._counts
        contraction = self._contracted.get(word.replace("'", ""), word)
        if contraction != word and (not known or contraction in self._negated):
            yield Option((contraction,), APOSTROPHE)
        for cut in range(1, len(word)) if self.word(word) < OFTEN else ():
            pair = word[:cut], word[cut:]
            if self._side_by_side(*pair):
                common = sum(part in self._common for part in pair)
                price = LEFT_OUT[common] + OF_WORD * known + OF_LETTER * (1 in map(len, pair))
                yield Option(pair, price)

    def _of_two(self, first: str, second: str) -> Iterator[Option]:
        if "'" in first + second:
            return
        if first == second:
            if first in self._once:
                yield Option((first,), DOUBLED)
            return
        one_word, shortest = first + second, min(len(first), len(second))
        both = first in self._counts and second in self._counts
        if one_word in self._counts and shortest > 1:
            yield Option((one_word,), PUT_IN_WORDS if both else PUT_IN)
        for cut in () if both else (len(first) - 1, len(first) + 1):
            pair = one_word[:cut], one_word[cut:]
            if self._side_by_side(*pair) or self._were_moved((first, second), pair):
                yield Option(pair, MOVED)

    def _were_moved(self, words: Words, pair: Words) -> bool:
        """Whether two parts of several letters are words, or in the place of two unknown words one
        is common."""
        if min(map(len, pair)) < 2:
            return False
        known = any(word in self._counts for word in words)
        return all(map(self._stands, pair)) or not (known or self._common.isdisjoint(pair))

    def _side_by_side(self, left: str, right: str) -> bool:
        """Whether two parts are words that are listed so, or one is common, or none is short."""
        if not (self._stands(left) and self._stands(right)):
            return False
        listed = (left, right) in self._bigrams.counts
        common = [part in self._common for part in (left, right)]
        if len(left + right) < WHOLE:
            return all(common)
        letters = [part for part in (left, right) if len(part) == 1]
        if any(self.word(letter) < ARTICLE for letter in letters):
            return listed
        return listed or any(common) or min(len(left), len(right)) >= WHOLE

    def _stands(self, word: str) -> bool:
        least = {1: LETTER, 2: TWO_LETTERS}.get(len(word), -math.inf)
        return word in self._counts and self.word(word) >= least

    def _compounding(self, words: Words) -> float:
        """Log-probability that a word was made of these two, the higher, the more words were."""
        first, second = words
        _, *with_first = self._lines.split(f"\n{first}")
        *with_second, _ = self._lines.split(f"{second}\n")
        ends = (text.partition("\n")[0] for text in with_first)
        begins = (text.rpartition("\n")[2] for text in with_second)
        count_first = sum(map(self._stands, ends))
        count_second = sum(map(self._stands, begins))
        return COMPOUND + (math.log1p(count_first) + math.log1p(count_second))

    # choosing -------------------------------------------------------------------------------------

    def combined(
        self,
        line: str,
        places: Sequence[Span],
        wanted: Sequence[Chance],
        judge: Judge = lambda start, before, after, chance: chance,
    ) -> tuple[list[Chance], list[Chance]]:
        """The changes of single words that a model wants in a line, less those that spaces explain
        better, with probabilities that leave them their share; and the changes of spaces.

        Args:
            places: where its words are, as of :func:`.units.spans` with ``letters``.
            judge: the probability there, as of :meth:`.LineJudge.respaced`.
        """
        model = {(start, end): after for (start, end, after), _ in wanted}
        chances = {(start, end): chance for (start, end, _), chance in wanted}
        respaced: list[Chance] = []
        doubtful: set[Span] = set()  # words which may as well have lost a letter to the next one
        for slot in self._slots(line, places):
            if slot.is_twice and may_be_twice(slot.words[0], line, slot.span[0]):
                continue
            written = [line[start:end] for start, end in slot.places]
            meant = tuple(model.get(place, text) for place, text in zip(slot.places, written))
            best, chance, share = self._best(slot, tuple(map(looked_up, meant)))
            if len(slot.places) > 1 and 1 - SURE < share < SURE:
                doubtful.update(slot.places)
            text = as_written("".join(written), best) if best else None
            if best and chance < SURE and not has_letters_of(slot.words, best):
                continue  # a model knows more words
            if text == " ".join(meant) and slot.span in chances:
                if "'" not in text:  # no model takes an apostrophe for a term
                    chance = judge(slot.span[0], " ".join(written), text, chance)
                chances[slot.span] = max(chances[slot.span], chance)
                continue
            for place in chances.keys() & {*slot.places}:
                chances[place] *= 1 - share
            if text:
                respaced.append(((*slot.span, text), chance))

        def is_clear(change: Chance) -> bool:
            start, end, after = change[0]
            return (start, end) not in doubtful or " " in after

        kept = disjoint([*filter(is_clear, respaced)])
        others = [(patch, chances[patch[:2]]) for patch, _ in filter(is_clear, wanted)]
        others = [other for other in others if not overlaps(kept, other)]
        kept = [
            ((start, end, after), judge(start, line[start:end], after, chance))
            for (start, end, after), chance in kept
        ]
        return [_with_mark_behind(line, other) for other in others], [
            _with_mark_behind(line, change) for change in kept
        ]

    def _slots(self, line: str, places: Sequence[Span]) -> Iterator[Slot]:
        """What may be respaced in a line, if that is not in another language."""
        words = [looked_up(line[start:end]) for start, end in places]
        shouted = is_shouted(line)
        cases = ["small" if shouted else case_of(line, *place) for place in places]
        rated = [self.rating(word) for word in words]
        sum_rated = sum(rated)
        for first, last in self._neighbours(line, places, cases):
            slot_words = tuple(words[first : last + 1])
            if not self._options(slot_words, cases[first]):
                continue
            left_out = [*range(first, last + 1)]
            for beside in (first - 1, last + 1):  # unknown words may be wrong there, too
                if 0 <= beside < len(words) and words[beside] not in self._counts:
                    left_out.append(beside)
            sum_others = sum_rated - sum(rated[number] for number in left_out)
            if is_foreign(sum_others, len(words) - len(left_out)):
                continue
            left, right = context(line, places, first)[0], context(line, places, last)[1]
            slot = tuple(places[first : last + 1])
            yield Slot(slot, slot_words, left, right, cases[first])

    def _neighbours(
        self, line: str, places: Sequence[Span], cases: Sequence[str]
    ) -> Iterator[tuple[int, int]]:
        """The numbers of the first and the last word of each slot: no names nor parts of words
        with hyphens."""
        hyphens = {*HYPHENS}
        stands_alone = []
        for start, end in places:
            beside = line[start - 1 : start], line[end : end + 1]
            stands_alone.append(hyphens.isdisjoint(beside))
        for number, (_, end) in enumerate(places):
            if not stands_alone[number] or cases[number] == "mixed":
                continue
            yield number, number
            following = number + 1
            if following == len(places):
                return
            has_space = line[end : places[following][0]] == " "
            if has_space and stands_alone[following] and cases[following] == "small":
                yield number, following

    def _best(self, slot: Slot, meant: Words) -> tuple[Words | None, float, float]:
        """The best of what may have been meant, its probability, and that of all changes of spaces;
        None where the words as they are, or what a model made of them, are more probable."""
        stays = self._text(slot.words, slot)
        if slot.case != "small" and slot.words[0] not in self._counts:
            stays += UNKNOWN_NAME - UNKNOWN
        rated: list[tuple[float, Words | None]] = [(stays, None)]
        options = self._options(slot.words, slot.case)
        compounds = (words for words, price in options if price == LEFT_OUT[0])
        rated += [(self._text(words, slot) + self._compound(words), None) for words in compounds]
        if meant != slot.words and meant not in [option.words for option in options]:
            rated.append((self._of_model(slot, meant, options), None))
        alone = 0.0 if slot.left or slot.right or slot.is_twice else ALONE
        rated += [(self._text(words, slot) + price + alone, words) for words, price in options]
        top, best = max(rated, key=itemgetter(0))
        masses = [math.exp(score - top) for score, _ in rated]
        total = math.fsum(masses)
        of_spaces = [words and has_letters_of(slot.words, words) for _, words in rated]
        return best, 1 / total, math.fsum(compress(masses, of_spaces)) / total

    def _of_model(self, slot: Slot, meant: Words, options: Sequence[Option]) -> float:
        """Log-probability that what a model makes of a slot was meant there."""
        slips = sum(map(OSA.distance, slot.words, meant))
        is_slip = options and not has_letters_of(slot.words, options[0].words)
        first_price = options[0].price if is_slip else SLIP
        price = first_price + SLIP * (slips - 1)
        words = tuple(" ".join(meant).split())
        return self._text(words, slot) + price


def _with_mark_behind(line: str, change: Chance) -> Chance:
    """A change that puts an apostrophe into a word, with the one behind it (*isnt'*), unless that
    ends a quotation."""
    (start, end, after), chance = change
    before = looked_up(line[start:end])
    added = "'" in looked_up(after) and "'" not in before and line[end : end + 1] in {*APOSTROPHES}
    if added and not _OPENS_QUOTE.search(line[max(start - CLAUSE, 0) : start]):
        end += 1
    return (start, end, after), chance


def most_frequent(counts: Mapping[str, float], most: int) -> list[str]:
    """The words with the highest counts, and those that are met as often."""
    words = [*counts]
    values = np.array([*counts.values()])
    rank = max(len(words) - most, 0)
    least = np.partition(values, rank)[rank]
    places = np.flatnonzero(values >= least)
    return [words[place] for place in places.tolist()]


def is_foreign(sum_rated: float, count: int) -> bool:
    """Whether so many words, whose ratings have this sum, are rather those of another language."""
    return count > 0 and sum_rated < FOREIGN * count


def disjoint(changes: Sequence[Chance]) -> list[Chance]:
    """Of changes that overlap the longest of the sure ones, else the most probable, in order."""

    def rank(change: Chance) -> tuple[float, int, float]:
        (start, end, _), chance = change
        return min(chance, SURE), end - start, chance

    kept: list[Chance] = []
    for change in sorted(changes, key=rank, reverse=True):
        if not overlaps(kept, change):
            insort(kept, change)
    return kept
