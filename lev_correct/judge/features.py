"""Measures what tells whether an edit is right: features of its channel, place and material; and
weighs them.

*Channel*: how sure the model is, and how what stands there may have become what is meant. *Place*:
the neighbours, the line and the text. *Material*: what the lists, and the repository, say of the
word. Each is a number by name, the words that :meth:`.Edit.to_dict` shows people.
"""

import json
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING

from rapidfuzz.distance import OSA

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import read_bytes

from ..files.markup import case_of, is_shouted, without_markup
from ..packaged import ENGLISH_SPELLING
from ..propose.backend import Backend
from ..text.units import Span, context, looked_up

if TYPE_CHECKING:
    from .judge import Evidence

#: The feature that says of a listed misspelling that another correction is listed before.
NOT_THE_FIRST = "not the first correction"
#: Bounds of what counts of the model's log-odds as certainty.
CERTAIN = (-8.0, 8.0)
#: The highest of them, which count beyond certainty.
SUREST = 20.0
#: Bounds of the mean log-probability of a line's other words.
RARE_AND_USUAL = (-12.0, -6.0)
#: Bounds of the association of two words.
FITS = (-4.0, 4.0)
#: Log-probability from which on a word is no rare one.
RARE = -11.0
#: How much rarer counts.
RAREST = 2.0
#: Letters of a short word, at most.
SHORT = 3
#: Letters of the parts of a compound, at least.
PART = 4
_TOKEN = re.compile(r"\S+")
_SINGLE = re.compile(r"(.)(?=\1)")
_SILENT = re.compile(r"[aeiouyhw]|(.)(?=\1)")
#: A token that is nothing but a word.
_SIMPLE = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*[,.;:!?]*")


class LineFeatures:
    """Measures the edits of one line; ``words``: the lists, ``places``: of its words."""

    def __init__(self, text: "Evidence", words: Backend, line: str, places: Sequence[Span]) -> None:
        self._text, self._words, self.line, self.places = text, words, line, places

    @cached_property
    def _others(self) -> dict[str, "Others"]:
        """The other words of the line, and its tokens."""
        texts = [self.line[start:end] for start, end in self.places]
        starts = [start for start, _ in self.places]
        ratings = [self._words.rating(looked_up(text)) for text in texts]
        unknown = [self._words.unknown(text) for text in texts]
        tokens = [*_TOKEN.finditer(without_markup(self.line))]
        token_starts = [token.start() for token in tokens]
        simple = [bool(_SIMPLE.fullmatch(token[0])) for token in tokens]
        return {
            "usual": Others(starts, ratings, RARE_AND_USUAL[1]),
            "unknown": Others(starts, unknown),
            "simple": Others(token_starts, simple),
        }

    def of(self, start: int, before: str, after: str, chance: float) -> dict[str, float]:
        """Returns the features of an edit by name; ``start``: where it begins."""
        word, other = looked_up(before), looked_up(after)
        return {
            name: float(value)
            for features in (
                self._of_channel(word, other, chance),
                self._of_place(start, before, other),
                self._of_material(start, before, after),
            )
            for name, value in features
        }

    def _of_channel(self, word: str, other: str, chance: float) -> Iterator[tuple[str, float]]:
        certainty = math.log(max(chance, 1e-9) / max(1 - chance, 1e-9))
        distance = OSA.distance(word, other)
        is_slip = distance == 1
        is_replaced = is_slip and len(word) == len(other)
        swapped = is_replaced and Counter(word) == Counter(other)
        sounds_alike = _sound(word) == _sound(other)
        yield "certain", between(certainty, *CERTAIN)
        yield "sure", between(certainty, CERTAIN[1], SUREST) - CERTAIN[1]
        yield "one slip", is_slip
        yield "slips", distance
        yield "slips by letters", distance / len(word)
        yield "sounds alike", sounds_alike
        yield "other first letter", word[:1] != other[:1]
        yield "other last letter", word[-1:] != other[-1:]
        first = len(commonprefix([word, other]))
        last = len(commonprefix([word[::-1], other[::-1]]))
        yield "letters that stay", min((first + last) / len(word), 1)
        yield "two letters exchanged", swapped
        yield "doubled letter", is_slip and _SINGLE.sub("", word) == _SINGLE.sub("", other)
        yield "a letter missing", is_slip and len(word) < len(other)
        yield "another vowel", sounds_alike and is_replaced and not swapped
        yield "letters", min(len(word), 12)
        yield "short", len(word) <= SHORT
        yield "only an affix", word.startswith(other) + word.endswith(other)
        yield "looks like a word", self._words.shape(word)
        yield "correction looks like one", self._words.shape(other.replace(" ", ""))

    def _of_place(self, start: int, before: str, other: str) -> Iterator[tuple[str, float]]:
        end = start + len(before)
        words = other.split()
        first, last = self._others["unknown"].touched(start, end)
        left = context(self.line, self.places, first)[0]
        right = context(self.line, self.places, last - 1)[1]
        pairs = [(left, words[0])] if left else []
        pairs += [(words[-1], right)] if right else []
        usual = self._others["usual"].mean(start, end)
        yield "fits", sum(between(self._words.association(*pair), *FITS) for pair in pairs)
        inside = map(self._words.association, words, words[1:])
        yield "words fit each other", sum(between(fit, *FITS) for fit in inside)
        yield "no neighbour", 2 - len(pairs)
        yield "everyday line", between(usual, *RARE_AND_USUAL)
        yield "unknown words in the line", self._others["unknown"].mean(start, end)
        yield "plain line", self._others["simple"].mean(start, end)
        yield "errors in the text", self._text.errors
        yield "no prose", not self._text.is_prose
        yield TYPED, self._text.is_typed

    def _of_material(self, start: int, before: str, after: str) -> Iterator[tuple[str, float]]:
        words = looked_up(after).split()
        level = self._text.level(before)
        known = [self._words.knows(word) for word in before.split()]
        rating = min(map(self._words.rating, words), default=0.0)
        # people have met *tomorow* so often that a list has it: it is no rarer word for that
        is_common_misspelling = level <= MET and rating >= RARE and _is_unheard_slip(before, after)
        if is_common_misspelling:
            level = 0
        case = case_of(self.line, start, start + len(before.split()[0]))
        has_capital = case in ("first", "name") and not is_shouted(self.line)
        yield "known", min(level, HIGHEST)
        yield "capital", has_capital
        yield "known with a capital", has_capital and level > 0
        yield "name", case == "name" and level >= NAME and not is_shouted(self.line)
        yield "usual correction", rating
        rare = between(RARE - rating, 0, RAREST)
        yield "rare correction of a known word", rare * (level > 0)
        least = 1 if words[1:] else LEFT_ALONE
        yield "words exist", all(known) or (any(known) and level >= least)
        yield "made of two words", self._is_compound(looked_up(before))
        listed = self._words.misspelt(before) if " " not in before else ()
        is_first = bool(listed) and looked_up(after) == looked_up(listed[0])
        yield NOT_THE_FIRST, len(listed) > 1 and not is_first
        yield "returns in the files", self._text.is_term(before)
        yield "oftener in the files", after.lower() in self._text.met_oftener(before)

    def _is_compound(self, word: str) -> bool:
        """Returns whether a word is two others of some letters that the lists have."""
        cuts = range(PART, len(word) - PART + 1)
        return any(self._words.knows(word[:cut]) and self._words.knows(word[cut:]) for cut in cuts)


def _is_unheard_slip(before: str, after: str) -> bool:
    """Returns whether a word is another one but for a letter that is not heard, not of its ending.

    One with a capital may be a name: *Sylt* is no slip of *salt*.
    """
    if not before.islower():
        return False
    word, other = looked_up(before), looked_up(after)
    if OSA.distance(word, other) != 1:
        return False
    return _sound(word) == _sound(other) and word[-1:] == other[-1:]


def _sound(word: str) -> str:
    return _SILENT.sub("", word)


#: Level of a known word that is not even looked at.
LEFT_ALONE = 7
#: Level of what may be a name.
NAME = 4
#: The level that counts at most.
HIGHEST = 6
#: Up to this level people may have met nothing but slips of a usual word (*tomorow*).
MET = 3


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


#: Kind of edits of words in a text that has few errors, or none.
FEW = "few"
#: The feature of these that a text of a single line has.
TYPED = "typed"
#: Those of English.
ENGLISH = ENGLISH_SPELLING / "corrector.judge"


class Weights:
    """Log-odds of edits by kind and feature.

    Args:
        kinds: of each kind its ``bias``, the log-odds where all features have their mean, and of
            features by name their weight and mean.
    """

    def __init__(self, kinds: Mapping[str, Mapping[str, tuple[float, float]]]) -> None:
        self._kinds = kinds

    @classmethod
    def read(cls, path: str | Path) -> "Weights":
        """Reads a file of ``fit_judge.py``; raises UserError for another one."""
        try:
            kinds = json.loads(read_bytes(str(path)))["kinds"]
            for rows in kinds.values():
                for name, (weight, mean) in rows.items():
                    rows[name] = float(weight), float(mean)
            return cls(kinds)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(f"{path} holds no weights of a judge ({error})") from None

    def judged(self, kind: str, features: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        """Returns the log-odds of an edit, and the terms of them by name, in nats; raises UserError
        where the weights are of another version's features.

        A word is judged by kind ``few`` in a text without listed misspellings, where weights have
        it; the more errors a text has, the more by its own.
        """
        try:
            odds, terms = self._sum(kind, features)
            if kind == "word" and FEW in self._kinds:
                of_few, few = self._sum(FEW, features)
                share = features["errors in the text"]
                odds = share * odds + (1 - share) * of_few
                for name, term in few.items():
                    few[name] = share * terms.get(name, 0.0) + (1 - share) * term
                terms = few
        except KeyError as error:
            fault = f"the judge's weights are of another version ({error})"
            raise UserError(f"{fault}; fit them again with fit_judge.py") from None
        return odds, terms

    def _sum(self, kind: str, features: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        rows = dict(self._kinds[kind])
        bias, _ = rows.pop("bias")
        terms = dict[str, float]()
        for name, (weight, mean) in rows.items():
            terms[name] = weight * (features[name] - mean)
        return bias + sum(terms.values()), terms
