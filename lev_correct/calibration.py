"""Calibration of probabilities.

A temperature divides the log-odds of every probability, so that it comes true as often as it says
(Guo et al., 2017, "On Calibration of Modern Neural Networks", of the two outcomes right and wrong).
It changes no order.
"""

import math
from collections.abc import Sequence

import numpy as np

#: Temperatures that are tried.
_TRIED = np.geomspace(0.05, 20, 601)
_SMALLEST = 1e-9
_LARGEST = 700.0  # whose exponential is finite


def calibrated(probability: float, temperature: float) -> float:
    """A probability with its log-odds divided by a temperature."""
    if temperature == 1 or not 0 < probability < 1:
        return probability
    odds = (math.log(probability) - math.log1p(-probability)) / temperature
    return 1 / (1 + math.exp(min(-odds, _LARGEST)))


def temperature(outcomes: Sequence[tuple[float, bool]]) -> float:
    """The temperature under which outcomes are most probable; 1 where they are all alike."""
    right = np.array([is_right for _, is_right in outcomes], dtype=bool)
    if right.all() or not right.any():
        return 1.0
    chances = np.array([chance for chance, _ in outcomes])
    inner = np.clip(chances, _SMALLEST, 1 - _SMALLEST)
    odds = np.log(inner / (1 - inner))

    def loss(candidate: float) -> float:
        p = np.clip(1 / (1 + np.exp(-odds / candidate)), _SMALLEST, 1 - _SMALLEST)
        return float(-np.log(np.where(right, p, 1 - p)).mean())

    return round(float(min(_TRIED, key=loss)), 4)
