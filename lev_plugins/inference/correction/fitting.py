"""Weights of a log-linear model by conditional maximum likelihood."""

import math

import numpy as np
import torch

#: How strongly fitting holds the weights to where they began.
DECAY = 1e-4


def most_likely(
    rows: torch.Tensor,
    owner: torch.Tensor,
    best: torch.Tensor,
    start: torch.Tensor,
    free: torch.Tensor,
) -> np.ndarray:
    """Weights that give the rows marked ``best`` the highest share of their owners' probability.

    Args:
        rows: candidates × features. owner: the number of each candidate's unit, from 0.
        start, free: weights to begin with, and which of them may change.
    """
    # features of one size, so that the solver and the decay treat them alike
    scale = rows.std(0).clamp(min=1e-6)
    scaled, begin = rows / scale, start * scale
    shift = torch.zeros_like(begin, requires_grad=True)
    units = int(owner.max()) + 1
    solver = torch.optim.LBFGS([shift], max_iter=200, line_search_fn="strong_wolfe")

    def logsumexp(scores: torch.Tensor) -> torch.Tensor:
        top = torch.full((units,), -math.inf, dtype=scores.dtype)
        top = top.scatter_reduce(0, owner, scores.detach(), "amax")
        sums = torch.zeros(units, dtype=scores.dtype)
        return top + sums.index_add(0, owner, (scores - top[owner]).exp()).log()

    def loss() -> torch.Tensor:
        solver.zero_grad()
        scores = scaled @ (begin + shift * free)
        value = (logsumexp(scores) - logsumexp(scores.masked_fill(~best, -1e4))).mean()
        value = value + DECAY * shift.square().sum()
        value.backward()
        return value

    solver.step(loss)
    return ((begin + shift.detach() * free) / scale).numpy()
