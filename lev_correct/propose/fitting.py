"""Weights of a log-linear model by conditional maximum likelihood."""

from collections.abc import Sequence

import numpy as np

#: How strongly fitting holds the weights to where they began.
DECAY = 1e-4
STEPS = 1000
FIRST_STEP, SMALLEST_STEP = 0.1, 1e-7


def most_likely(
    units: Sequence[tuple[np.ndarray, Sequence[bool]]], start: np.ndarray, free: Sequence[bool]
) -> np.ndarray:
    """Returns weights that give the best candidates of units the highest share of the probability.

    Each weight goes downhill by a step of its own, which grows while it keeps its direction and is
    halved where it turns (Riedmiller and Braun, 1993, "RPROP").

    Args:
        units: of each its candidates × features, and which of them are best.
        start, free: weights to begin with, and which of them may change.
    """
    rows = np.concatenate([features for features, _ in units]).astype(np.float64)
    best = np.array([mark for _, marks in units for mark in marks])
    sizes = np.array([len(marks) for _, marks in units])
    # features of one size, so that the steps and the decay treat them alike
    scale = np.maximum(rows.std(0, ddof=min(1, len(rows) - 1)), 1e-6)
    scaled = rows / scale
    begin = np.asarray(start, np.float64) * scale
    weights, steps, before = begin.copy(), FIRST_STEP * np.asarray(free), np.zeros_like(begin)
    for _ in range(STEPS):
        scores = scaled @ weights
        wrong = _shares(scores, sizes) - _shares(np.where(best, scores, -1e4), sizes)
        slope = wrong @ scaled / len(sizes) + 2 * DECAY * (weights - begin)
        turns = np.sign(slope * before)
        steps *= np.choose(turns.astype(int) + 1, (0.5, 1.0, 1.2))
        if steps.max() < SMALLEST_STEP:
            break
        weights -= steps * np.sign(slope)
        before = slope
    fitted: np.ndarray = weights / scale
    return fitted


def _shares(scores: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Returns each row's share of its unit's exponentials."""
    first = np.cumsum(sizes) - sizes
    highest = np.maximum.reduceat(scores, first)
    powers = np.exp(scores - np.repeat(highest, sizes))
    shares: np.ndarray = powers / np.repeat(np.add.reduceat(powers, first), sizes)
    return shares
