"""Cross-entropy with label smoothing, over a few rows at a time.

The logits of a batch's tokens are the largest matrix of an update, and torch goes over all of it at
every step of the loss. Here a few rows at a time are done with while the cache holds them, in the
forward and again in the backward pass.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from ...nn.blocks import rows_at_once


def smoothed(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """Sums over positions of the loss with label smoothing, and of what is logged.

    Args:
        logits: P × classes. labels: P. smoothing: share that all classes have in common.

    Returns:
        the loss; −log p of the labels, in nats; how often the label is the likeliest class. In
        single precision where the logits have less.
    """
    loss, nll, right = _Smoothed.apply(logits, labels, smoothing)
    return loss, nll, right


def _blocks(logits: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """A few rows of all of them at a time, the logits in single precision or more."""
    size = rows_at_once(logits)
    wide = torch.promote_types(logits.dtype, torch.float32)
    for part, *rest in zip(logits.split(size), *(one.split(size) for one in others)):
        yield part.to(wide), *rest


class _Smoothed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, labels: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        labels = labels.unsqueeze(1)
        norms, sums, right = [], [], []
        for part, own in _blocks(logits, labels):
            norm = part.logsumexp(1, keepdim=True)
            # −log p of the label, and the mean of all classes'
            costs = norm - torch.cat([part.gather(1, own), part.mean(1, keepdim=True)], 1)
            norms.append(norm)
            sums.append(costs.sum(0))
            right.append((part.max(1, keepdim=True).indices == own).sum())  # sooner than argmax
        ctx.save_for_backward(logits, labels, torch.cat(norms))
        ctx.smoothing = smoothing
        nll, even = reduce(torch.add, sums).unbind()
        found = reduce(torch.add, right)
        ctx.mark_non_differentiable(nll, found)
        # without smoothing a class of probability 0 costs nothing
        loss = torch.lerp(nll, even, smoothing) if smoothing else nll.clone()
        return loss, nll, found

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *unused: Tensor) -> tuple[Tensor, None, None]:
        # d/dx of −(1 − ε) log p(label) − ε mean log p = p − ε / classes − (1 − ε) [label]
        logits, labels, norms = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        places = gradient.split(rows_at_once(gradient))
        for place, (part, own, norm) in zip(places, _blocks(logits, labels, norms)):
            rows = (part - norm).exp_().sub_(ctx.smoothing / part.size(1))
            rows.scatter_add_(1, own, torch.full_like(norm, ctx.smoothing - 1))
            place.copy_(rows.mul_(grad))
        return gradient, None, None
