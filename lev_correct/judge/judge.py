"""Judges: how probable an edit is where it stands, by what its text tells besides the model.

A probability goes from the model to the text in this order:

1. a temperature makes it come true as often as it says (:func:`calibrated`);
2. the text's judge has its say: :meth:`.Corrector.judge` chooses which one a text has. It is given
   the lines in order (``foreign_parts``), then asked for each line's edits (``line(…)``):

   - :class:`Judge`: the model's word is taken;
   - :class:`.Evidence`: lists of known words, and weights that were learnt, tell;

3. of what words and spaces explain one change is left (:func:`competed`);
4. it is compared with the least that the text asks for (:meth:`Judge.threshold_for`); of a
   misspelling that is sure to be one the word need not be (:func:`of_error`): it is reported then.
"""

import math
from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, Protocol

from ..lines import Change, overlaps
from ..propose.spacing import SURE
from ..text.units import Span, letters_only

#: The feature that says of a listed misspelling that another correction is listed before.
NOT_THE_FIRST = "not the first correction"
_LARGEST = 700.0  # whose exponential is finite
#: What an edit does: to a word as the model proposes it, one that is alone in its line, that is
#: listed as a misspelling, or is written for another one; to spaces or apostrophes, or a slip.
Kind = Literal[
    "word", "alone", "listed", "confused", "slip", "left out", "put in", "apostrophe", "doubled"
]


class OfLine(Protocol):
    """Judges the edits of one line."""

    @property
    def why(self) -> Mapping[int, Mapping[str, float]]:
        """Returns by where an edit begins the terms of its log-odds by name, in nats."""

    def probability(
        self, start: int, before: str, after: str, chance: float, kind: Kind = "word"
    ) -> float:
        """Returns that of an edit, by all that is known.

        Args:
            start: where it begins.
            chance: by what proposed it, in [0, 1].
        """


class Judge:
    """Takes the model's word; base of the others."""

    #: So far, of the text, without empty ones.
    lines_read = 0
    #: Whether most of the text is in another language.
    foreign = False
    asked: Iterable[str] = ()  # words of which it told what the files of the run tell
    why: Mapping[int, Mapping[str, float]] = {}  # nothing but the model

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

    def line(self, text: str, places: Sequence[Span]) -> OfLine:
        """Returns a judge of the edits of a line; ``places`` as of :meth:`foreign_parts`."""
        return self

    def probability(
        self, start: int, before: str, after: str, chance: float, kind: Kind = "word"
    ) -> float:
        """See :class:`OfLine`."""
        return chance

    def threshold_for(self, threshold: float, is_spaced: bool) -> float:
        """Returns the probability from which on an edit is made; is_spaced: one of spaces."""
        return max(threshold, SURE) if is_spaced else threshold


def kind_of(before: str, after: str) -> Kind:
    """The kind of a change of spaces or apostrophes in a word or two, or of a slip."""
    words, spaced = len(before.split()), len(after.split())
    differ = letters_only(before) != letters_only(after)
    if words == 1:
        return "left out" if spaced > 1 else "slip" if differ else "apostrophe"
    return "doubled" if spaced == 1 and differ else "put in"


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
