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
    """What stays, bool, in the shape of ``x``: all but ``level`` of 65,536."""
    count = x.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    kept: Tensor = bits.view(torch.int16)[:count].ge(level - LEVELS // 2)
    return kept.view(x.shape)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, level: int) -> Tensor:
        kept = _kept(x, level)
        ctx.save_for_backward(kept)
        ctx.scale = LEVELS / (LEVELS - level)
        return kept.to(x.dtype).mul_(ctx.scale).mul_(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return kept.to(grad.dtype).mul_(ctx.scale).mul_(grad), None
