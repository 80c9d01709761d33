"""Attention in bfloat16 on a CPU, forward and backward.

The backward pass of torch's own kernel takes five times as long in bfloat16 as in single precision.
Products of whole batches are fast in both: here the scores and the softmax have single precision,
as in torch's kernel, and all other products bfloat16.
"""

from typing import Any

import torch
from torch import Tensor

from .linear import needs_upcast

#: scores of a head; where there are more, what is kept of them takes too much memory
MOST_SCORES = 2**17


def fits_bf16(query: Tensor, key: Tensor, mask: Tensor | None) -> bool:
    """Whether :func:`attend_bf16` is the faster one for these, and can take them."""
    few = query.size(2) * key.size(2) <= MOST_SCORES
    return few and (mask is None or mask.dtype == torch.bool) and not needs_upcast(query)


def attend_bf16(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float | None = None
) -> Tensor:
    """``scaled_dot_product_attention`` of B × H × T × D queries over B × H × S × D.

    Args:
        mask: bool, True where attention may look; anything that expands to B × H × T × S.
        scale: of the scores, None for 1 / √D.
    """
    scale = query.size(-1) ** -0.5 if scale is None else scale
    out: Tensor = _Attention.apply(query, key, value, mask, scale)
    return out


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float
    ) -> Tensor:
        ctx.shape, ctx.scale = query.shape[:2], scale
        query, key, value = (x.reshape(-1, *x.shape[2:]) for x in (query, key, value))
        scores = torch.bmm(query.float(), key.float().transpose(1, 2)).mul_(scale)
        if mask is not None:
            scores.unflatten(0, ctx.shape).masked_fill_(~mask, float("-inf"))
        weights = scores.softmax(2).to(value.dtype)
        ctx.save_for_backward(query, key, value, weights)
        return torch.bmm(weights, value).unflatten(0, ctx.shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights = ctx.saved_tensors
        grad = grad.reshape(query.shape)
        by_weight = torch.bmm(grad, value.transpose(1, 2))
        by_score = torch._softmax_backward_data(by_weight, weights, 2, weights.dtype).mul_(
            ctx.scale
        )
        found = (
            torch.bmm(by_score, key),
            torch.bmm(by_score.transpose(1, 2), query),
            torch.bmm(weights.transpose(1, 2), grad),
        )
        return *(one.unflatten(0, ctx.shape) for one in found), None, None
