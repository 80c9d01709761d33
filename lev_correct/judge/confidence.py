"""What becomes of an edit's probability on its way from the model to the text, in this order:

1. a temperature makes it come true as often as it says (:func:`calibrated`);
2. of a sentence's first word it is lower, which may be a name (:func:`of_opening`);
3. the text's judge has its say (:mod:`.judge`);
4. what spaces explain as well loses their share (:meth:`.Spacing.combined`);
5. of the edits of one word the least sure counts (:func:`.whole_words`);
6. it is compared with the least that the text asks for (:meth:`.Judge.least`).
"""

import math
from collections.abc import Sequence

import numpy as np

from ..propose.fitting import most_likely

LOWEST, HIGHEST = 0.05, 20.0
#: By how much the odds of an edit of a sentence's first word are divided.
OPENING = 4.0
_SMALLEST = 1e-9
_LARGEST = 700.0  # whose exponential is finite


def times_odds(probability: float, factor: float) -> float:
    """Returns a probability with its odds multiplied by a factor."""
    if factor == 1:
        return probability
    return probability * factor / (probability * factor + max(1 - probability, _SMALLEST))


def of_opening(probability: float, odds_of_capital: float) -> float:
    """Returns that of an edit of a sentence's first word, which may be a name."""
    return times_odds(probability, 1 / min(OPENING, odds_of_capital))


def calibrated(probability: float, temperature: float) -> float:
    """Returns a probability with its log-odds divided by a temperature, which changes no order (Guo
    et al., 2017, "On Calibration of Modern Neural Networks", of two outcomes, right and wrong)."""
    if temperature == 1 or not 0 < probability < 1:
        return probability
    odds = (math.log(probability) - math.log1p(-probability)) / temperature
    return 1 / (1 + math.exp(min(-odds, _LARGEST)))


def temperature(outcomes: Sequence[tuple[float, bool]]) -> float:
    """Returns the temperature under which outcomes are most probable; 1 where all are alike."""
    if len({is_right for _, is_right in outcomes}) < 2:
        return 1.0
    units = []
    for chance, is_right in outcomes:
        inner = min(max(chance, _SMALLEST), 1 - _SMALLEST)
        odds = math.log(inner / (1 - inner))
        units.append((np.array([[odds], [0.0]]), [is_right, not is_right]))
    (weight,) = most_likely(units, np.ones(1), [True]).tolist()
    return round(1 / min(max(weight, 1 / HIGHEST), 1 / LOWEST), 4)
