"""Cross-entropy with label smoothing, a few rows at a time.

Shapes: P places, each with a label.
"""

from collections.abc import Iterator
from functools import reduce as fold
from typing import Any

import torch
from torch import Tensor

from .backends import chunk_rows


def smoothed(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """Returns sums over P: the loss with label smoothing, −log p of the labels (nats), and how
    often no class is likelier than the label; in single precision where the logits have less.

    logits: P × classes. labels: P. smoothing: share that all classes have in common.
    """
    return _Smoothed.apply(logits, labels, smoothing)


def _blocks(logits: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yields chunks of rows that fit into the cache, because the loss reads the logits several
    times; the logits in single precision or more."""
    size = chunk_rows(logits)
    wide = torch.promote_types(logits.dtype, torch.float32)
    columns = [values.split(size) for values in others]
    for part, *rest in zip(logits.split(size), *columns):
        yield part.to(wide), *rest


class _Smoothed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, labels: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        labels = labels.unsqueeze(1)
        norms, sums, hits = [], [], []
        for part, own in _blocks(logits, labels):
            norm = part.logsumexp(1, keepdim=True)
            own_logits = part.gather(1, own)
            # −log p of the label, and the mean of all classes'
            means = [part.mean(1, keepdim=True)] if smoothing else []
            norms.append(norm)
            sums.append((norm - torch.cat([own_logits, *means], 1)).sum(0))
            # a tenth of the time of max, which has the place of the largest number too
            hits.append((own_logits == part.amax(1, keepdim=True)).sum())
        ctx.save_for_backward(logits, labels, torch.cat(norms))
        ctx.smoothing = smoothing
        parts = fold(torch.add, sums)
        nll, even = parts[0], parts[-1]
        correct = fold(torch.add, hits)
        ctx.mark_non_differentiable(nll, correct)
        # without smoothing a class of probability 0 costs nothing
        loss = torch.lerp(nll, even, smoothing) if smoothing else nll.clone()
        return loss, nll, correct

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *unused: Tensor) -> tuple[Tensor, None, None]:
        # d/dx of −(1 − ε) log p(label) − ε mean log p = p − ε / classes − (1 − ε) [label]
        logits, labels, norms = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        places = gradient.split(chunk_rows(gradient))
        for place, (part, own, norm) in zip(places, _blocks(logits, labels, norms)):
            # in place where the logits have the precision that it is computed in
            rows = place if place.dtype == part.dtype else torch.empty_like(part)
            torch.sub(part, norm, out=rows).exp_().sub_(ctx.smoothing / part.size(1))
            rows.scatter_add_(1, own, torch.full_like(norm, ctx.smoothing - 1)).mul_(grad)
            if rows is not place:
                place.copy_(rows)
        return gradient, None, None
