"""Weights of a log-linear model by conditional maximum likelihood."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

#: How strongly fitting holds the weights to where they began.
DECAY = 1e-4


def most_likely(
    units: Sequence[tuple[np.ndarray, Sequence[bool]]], start: np.ndarray, free: Sequence[bool]
) -> np.ndarray:
    """Weights that give the best candidates of units the highest share of the probability.

    Args:
        units: of each its candidates × features, and which of them are best.
        start, free: weights to begin with, and which of them may change.
    """
    rows = torch.tensor(np.concatenate([features for features, _ in units]))
    best = torch.tensor([mark for _, marks in units for mark in marks])
    # of each unit the numbers of its rows; behind them that of one that has no probability
    sizes = [len(marks) for _, marks in units]
    places = pad_sequence(list(torch.arange(len(rows)).split(sizes)), True, len(rows))
    # features of one size, so that the solver and the decay treat them alike
    scale = rows.std(0).clamp(min=1e-6)
    scaled, begin, may = rows / scale, torch.tensor(start) * scale, torch.tensor(free)
    shift = torch.zeros_like(begin, requires_grad=True)
    solver = torch.optim.LBFGS([shift], max_iter=200, line_search_fn="strong_wolfe")

    def logsumexp(scores: torch.Tensor) -> torch.Tensor:
        return pad(scores, (0, 1), value=-math.inf)[places].logsumexp(1)

    def loss() -> torch.Tensor:
        solver.zero_grad()
        scores = scaled @ (begin + shift * may)
        value = (logsumexp(scores) - logsumexp(scores.masked_fill(~best, -1e4))).mean()
        value = value + DECAY * shift.square().sum()
        value.backward()
        return value

    solver.step(loss)
    return ((begin + shift.detach() * may) / scale).numpy()
