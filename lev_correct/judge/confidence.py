"""Says what becomes of an edit's probability on its way from the model to the text, in this order:

1. a temperature makes it come true as often as it says (:func:`calibrated`);
2. the text's judge has its say (:mod:`.judge`);
3. what spaces explain as well loses their share (:func:`competed`);
4. it is compared with the least that the text asks for (:meth:`.Judge.threshold_for`); of a
   misspelling that is sure to be one the word need not be (:func:`of_error`): it is reported then.
"""

import math
from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from lev_runtime.logistic import most_likely

from ..lines import Change, overlaps
from ..propose.spacing import SURE, Respaced

LOWEST, HIGHEST = 0.05, 20.0
#: The feature that says of a listed misspelling that another correction is listed before.
NOT_THE_FIRST = "not the first correction"
_SMALLEST = 1e-9
_LARGEST = 700.0  # whose exponential is finite


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


def temperature(outcomes: Sequence[tuple[float, bool]]) -> float:
    """Returns the temperature under which outcomes are most probable; 1 where all are alike."""
    if len({is_right for _, is_right in outcomes}) < 2:
        return 1.0
    units = []
    for chance, is_right in outcomes:
        inner = min(max(chance, _SMALLEST), 1 - _SMALLEST)
        odds = math.log(inner / (1 - inner))
        units.append((np.array([[odds], [0.0]]), [is_right, not is_right]))
    (weight,) = most_likely(units, np.ones(1), ridge=1e-4 * len(units)).tolist()
    return round(1 / min(max(weight, 1 / HIGHEST), 1 / LOWEST), 4)


def competed(
    line: str,
    wanted: Sequence[Change],
    proposed: Iterable[Respaced],
    judge: Callable[[int, str, str, float], float] = lambda start, before, after, chance: chance,
) -> tuple[list[Change], list[Change]]:
    """Returns the changes of single words that a model wants in a line, less those that spaces
    explain better, with probabilities that leave them their share; and the changes of spaces.

    Args:
        judge: where a change begins, what stands there and what comes, its probability by what
            proposes it → that in its text.
    """
    chances = {(start, end): chance for start, end, _, chance in wanted}
    respaced: list[Change] = []
    for places, text, chance, share, is_models in proposed:
        start, end = span = places[0][0], places[-1][1]
        if text and is_models and span in chances:
            if "'" not in text:  # no model takes an apostrophe for a term
                chance = judge(start, line[start:end], text, chance)
            chances[span] = max(chances[span], chance)
            continue
        for place in chances.keys() & {*places}:
            chances[place] *= 1 - share
        if text:
            respaced.append(Change(*span, text, chance))

    kept = disjoint(respaced)
    others = [change._replace(probability=chances[change[:2]]) for change in wanted]
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
