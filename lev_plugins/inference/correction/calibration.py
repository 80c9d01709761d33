"""Probabilities that come true as often as they say.

A temperature divides the log-odds of every probability (Guo et al., 2017, "On Calibration of Modern
Neural Networks", of the two outcomes right and wrong). It changes no order.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_SMALLEST = 1e-9
_LARGEST = 700.0  # whose exponential is finite
#: Temperatures that are tried.
_TRIED = np.geomspace(0.05, 20, 601)


def calibrated(probability: float, temperature: float) -> float:
    """A probability with its log-odds divided by a temperature."""
    if temperature == 1 or not 0 < probability < 1:
        return probability
    odds = (math.log(probability) - math.log1p(-probability)) / temperature
    return 1 / (1 + math.exp(min(-odds, _LARGEST)))


def temperature(found: Sequence[tuple[float, bool]]) -> float:
    """The temperature under which outcomes are most probable; 1 where they are all alike."""
    chances, right = _arrays(found)
    if len(set(right.tolist())) < 2:
        return 1.0
    losses = [
        -np.log(np.where(right, p, 1 - p)).mean()
        for p in (np.clip(_divided(chances, one), _SMALLEST, 1 - _SMALLEST) for one in _TRIED)
    ]
    return round(float(_TRIED[int(np.argmin(losses))]), 4)


def _arrays(found: Sequence[tuple[float, bool]]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    return np.array([p for p, _ in found]), np.array([right for _, right in found], dtype=bool)


def _divided(chances: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    inner = np.clip(chances, _SMALLEST, 1 - _SMALLEST)
    return 1 / (1 + np.exp(-np.log(inner / (1 - inner)) / temperature))
