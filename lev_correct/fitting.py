"""Weights of a log-linear model by conditional maximum likelihood."""

from collections.abc import Callable, Sequence

import numpy as np

#: How strongly fitting holds the weights to where they began.
DECAY = 1e-4
STEPS = 200
_LEAST_GAIN = 1e-10  #: a step that lowers the loss by less ends the search
_ARMIJO = 1e-4


def most_likely(
    units: Sequence[tuple[np.ndarray, Sequence[bool]]], start: np.ndarray, free: Sequence[bool]
) -> np.ndarray:
    """Returns weights that give the best candidates of units the highest share of the probability.

    Args:
        units: of each its candidates × features, and which of them are best.
        start, free: weights to begin with, and which of them may change.
    """
    rows = np.concatenate([features for features, _ in units]).astype(np.float64)
    best = np.array([mark for _, marks in units for mark in marks])
    sizes = np.array([len(marks) for _, marks in units])
    # features of one size, so that the solver and the decay treat them alike
    scale = np.maximum(rows.std(0, ddof=min(1, len(rows) - 1)), 1e-6)
    scaled = rows / scale
    begin = np.asarray(start, np.float64) * scale
    may = np.asarray(free, np.float64)

    def loss(shift: np.ndarray) -> tuple[float, np.ndarray]:
        """Returns the loss and its gradient."""
        scores = scaled @ (begin + shift * may)
        total, shares = _softmax(scores, sizes)
        best_total, best_shares = _softmax(np.where(best, scores, -1e4), sizes)
        gradient = (shares - best_shares) @ scaled * may / len(sizes)
        value = float((total - best_total).mean() + DECAY * np.square(shift).sum())
        return value, gradient + 2 * DECAY * shift

    shift = _minimum(loss, np.zeros_like(begin))
    weights: np.ndarray = (begin + shift * may) / scale
    return weights


def _softmax(scores: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the log of each unit's sum of exponentials, and each row's share of its unit's."""
    first = np.cumsum(sizes) - sizes
    highest = np.maximum.reduceat(scores, first)
    powers = np.exp(scores - np.repeat(highest, sizes))
    sums = np.add.reduceat(powers, first)
    return highest + np.log(sums), powers / np.repeat(sums, sizes)


def _minimum(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]], place: np.ndarray
) -> np.ndarray:
    """Returns where a smooth function is lowest, by BFGS from ``place``."""
    inverse = np.eye(len(place))
    value, gradient = loss(place)
    for _ in range(STEPS):
        direction = -inverse @ gradient
        slope = float(gradient @ direction)
        size = 1.0
        while (found := loss(place + size * direction))[0] > value + _ARMIJO * size * slope:
            size /= 2
            if size < _LEAST_GAIN:
                return place
        step, change = size * direction, found[1] - gradient
        place, gain = place + step, value - found[0]
        value, gradient = found
        if gain < _LEAST_GAIN:
            break
        curvature = float(step @ change)
        if curvature > 0:
            update = np.eye(len(place)) - np.outer(step, change) / curvature
            inverse = update @ inverse @ update.T + np.outer(step, step) / curvature
    return place
