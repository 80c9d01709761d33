"""Dropout that asks a CPU for 16 random bits an element and keeps one byte of them.

torch samples 32 bits an element there, one after the other, which takes as long as a narrow linear
layer, and keeps what it drew in the size of the activations.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 2**16


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """``torch.nn.functional.dropout``, any shape; on a CPU ``p`` is rounded to a 65,536th."""
    if not training or p <= 0:
        return x
    level = round(p * LEVELS)
    if x.device.type != "cpu" or not 0 < level < LEVELS:
        return F.dropout(x, p, training)
    out: Tensor = _Dropout.apply(x, level)
    return out


def _kept(x: Tensor, level: int) -> Tensor:
    """−1 where an element stays and 0 at ``level`` of 65,536, 16 bits, in the shape of ``x``.

    Numbers and not bool: bool takes longer to compare and to multiply by than all the rest.
    """
    count = x.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    least = level - LEVELS // 2
    kept = bits.view(torch.int16)[:count].clamp_(least - 1, least).neg_().add_(least - 1)
    return kept.view(x.shape)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, level: int) -> Tensor:
        kept = _kept(x, level)
        ctx.save_for_backward(kept.to(torch.int8))
        ctx.scale = -LEVELS / (LEVELS - level)
        return kept.to(x.dtype).mul_(x).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return kept.to(grad.dtype).mul_(grad).mul_(ctx.scale), None
