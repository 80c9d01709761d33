"""Calibration of probabilities.

A temperature divides the log-odds of every probability, so that it comes true as often as it says
(Guo et al., 2017, "On Calibration of Modern Neural Networks", of the two outcomes right and wrong).
It changes no order.
"""

import math
from collections.abc import Sequence

import numpy as np

from .fitting import most_likely

LOWEST, HIGHEST = 0.05, 20.0
_SMALLEST = 1e-9
_LARGEST = 700.0  # whose exponential is finite


def calibrated(probability: float, temperature: float) -> float:
    """Returns a probability with its log-odds divided by a temperature."""
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
