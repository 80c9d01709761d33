"""Fit the weights of a log-linear model: a choice among candidates, or a yes and a no."""

from collections.abc import Sequence

import numpy as np

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
STEPS, HALVINGS = 100, 30
CLOSE = 1e-9  # of the last step to the one before, relative to the largest weight


def most_likely(
    units: Sequence[tuple[np.ndarray, Sequence[bool]]],
    start: np.ndarray,
    free: Sequence[bool] | None = None,
    counts: Sequence[float] | None = None,
    ridge: np.ndarray | float = 1e-6,
) -> Array:
    """Returns weights that give the best candidates of units the highest share of the probability.

    A candidate's share is that of its exponential, exp(features · weights), among those of its
    unit. Newton's method with the curvature of all candidates, steps halved until they help. The
    same data give the same weights, no units those of the start.

    Args:
        units: of each its candidates × features, and which of them are best, one at least. A yes
            or no is a unit of a row of zeros and the features, see :func:`logistic`.
        start: weights to begin with, which the ridge holds them to.
        free: which weights may change (default: all).
        counts: how often each unit counts (default: once).
        ridge: of each weight, how strongly it is held: ridge / 2 · (weight − start)² is taken from
            the logarithm of the probability.
    """
    if not units:
        return np.array(start, np.float64)
    rows = np.concatenate([features for features, _ in units]).astype(np.float64)
    best = np.array([mark for _, marks in units for mark in marks])
    sizes = np.array([len(marks) for _, marks in units])
    shares = np.ones(len(sizes)) if counts is None else np.asarray(counts, np.float64)
    row_shares = np.repeat(shares, sizes)
    begin = np.asarray(start, np.float64)
    held = np.broadcast_to(np.asarray(ridge, np.float64), begin.shape)
    moving = np.ones(len(begin), bool) if free is None else np.asarray(free, bool)

    def likelihood(weights: Array) -> float:
        scores = rows @ weights
        right = _totals(np.where(best, scores, -np.inf), sizes) - _totals(scores, sizes)
        return float(shares @ right - held @ (weights - begin) ** 2 / 2)

    weights = begin
    reached = likelihood(weights)
    for _ in range(STEPS):
        scores = rows @ weights
        all_shares = _shares(scores, sizes)
        wrong = _shares(np.where(best, scores, -np.inf), sizes) - all_shares
        slope = (wrong * row_shares) @ rows - held * (weights - begin)
        part = rows[:, moving]
        weighted = part * (all_shares * row_shares)[:, None]
        means = np.add.reduceat(part * all_shares[:, None], np.cumsum(sizes) - sizes)
        curve = weighted.T @ part - (means * shares[:, None]).T @ means + np.diag(held[moving])
        step = np.zeros(len(weights))
        step[moving] = np.linalg.lstsq(curve, slope[moving], rcond=None)[0]
        for halving in range(HALVINGS):
            tried = weights + step * 0.5**halving
            if (after := likelihood(tried)) >= reached:
                break
        else:
            break
        moved = np.abs(tried - weights).max(initial=0.0)
        weights, reached = tried, after
        if moved <= CLOSE * max(np.abs(weights).max(initial=0.0), 1.0):
            break
    return weights


def logistic(
    table: np.ndarray,
    labels: Sequence[bool] | np.ndarray,
    counts: Sequence[float] | None = None,
    ridge: np.ndarray | float = 1e-6,
) -> Array:
    """Returns the weights of a logistic regression, as :func:`most_likely` does.

    Args:
        table: rows × features; a column of ones is the bias.
        labels: of each row whether it is a yes.
    """
    nothing = np.zeros(table.shape[1])
    units = [(np.stack([nothing, row]), (not yes, bool(yes))) for row, yes in zip(table, labels)]
    return most_likely(units, nothing, counts=counts, ridge=ridge)


def _totals(scores: np.ndarray, sizes: np.ndarray) -> Array:
    """Returns the logarithm of the sum of each unit's exponentials."""
    first = np.cumsum(sizes) - sizes
    highest = np.maximum.reduceat(scores, first)
    exponentials = np.exp(scores - np.repeat(highest, sizes))
    totals: Array = np.log(np.add.reduceat(exponentials, first)) + highest
    return totals


def _shares(scores: np.ndarray, sizes: np.ndarray) -> Array:
    """Returns each row's share of its unit's exponentials."""
    shares: Array = np.exp(scores - np.repeat(_totals(scores, sizes), sizes))
    return shares
