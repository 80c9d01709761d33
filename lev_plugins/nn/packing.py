"""Leaving padding out of whatever works on each position by itself.

Where tokens were dropped at random, half of a batch's positions are padding. Linear layers, norms
and dropout run on the real positions alone, and only attention sees the padded batch. Shapes:
B × T positions, N of them real, C channels.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .cpu import padded_rows

# with less padding than this the copies cost more than they save
LEAST_SHARE = 0.1


class Packing:
    """Where the real positions (B × T, bool) of a padded batch are.

    ``pads_rows``: more rows than N may be packed, all readers take what :meth:`pack` gives.
    index: N, long, the real positions in the batch laid flat. source: B·T, long, which of the N
    stands at each position; at padding the one before it.
    """

    def __init__(self, real: Tensor, pads_rows: bool = False) -> None:
        self.shape, self.pads_rows = real.shape, pads_rows
        flat = real.flatten()
        self.index = flat.nonzero().squeeze(1)
        self.source = (flat.cumsum(0) - 1).clamp(min=0)

    @classmethod
    def maybe_pack(cls, real: Tensor) -> "Packing | None":
        """The packing for real positions, B × T, bool; None where it would save little."""
        packing = cls(real, pads_rows=True)
        return packing if len(packing.index) < (1 - LEAST_SHARE) * real.numel() else None

    def pack(self, x: Tensor) -> Tensor:
        """B × T × C → N × C; more rows than N where that spares kernels."""
        x, rows = x.flatten(0, 1), len(self.index)
        if self.pads_rows and x.dtype == torch.bfloat16 and x.device.type == "cpu":
            rows = padded_rows(rows)
        return rows_at(x, self.index, rows)

    def unpack(self, x: Tensor) -> Tensor:
        """N × C → B × T × C; at padding, which nobody looks at, some of the N stand again."""
        if not len(x):
            return F.pad(x, (0, 0, 0, len(self.source))).unflatten(0, self.shape)
        return _Rows.apply(x, self.source, self.index, 0).unflatten(0, self.shape)


class Layout(NamedTuple):
    """How a batch is read.

    mask: what attention sees, bool or to be added to the scores, expands to B × H × T × keys; None
    for all. packing: None where padding is kept. turns: of rotary positions, B × 1 × T × D/2.
    """

    mask: Tensor | None
    packing: Packing | None
    turns: Tensor | None = None

    @classmethod
    def of(cls, real: Tensor, waits: bool = True) -> "Layout":
        """Of real positions, B × T, bool; ``waits``: for a device too, to count the padding."""
        mask = real[:, None, None, :]
        if real.device.type != "cpu" and not waits:
            return cls(mask, None)
        return cls(None, None) if bool(real.all()) else cls(mask, Packing.maybe_pack(real))


def rows_at(x: Tensor, index: Tensor, rows: int = 0) -> Tensor:
    """N × C, the rows of ``x`` (any × C) at ``index`` (N), each of which comes once at most.

    Up to ``rows``, if that is more, with others behind them that nobody looks at.
    """
    return _Rows.apply(x, index, None, rows)


class _Rows(torch.autograd.Function):
    """Rows at ``index``, whose gradient is copied, not summed: one pass over the memory.

    Each comes once at most; or, where some come again, only those at ``counting`` of the result
    are looked at, each of ``x`` once. What ``rows`` adds has no gradient, and rows of ``x`` that
    never come have 0.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, counting: Tensor | None, rows: int) -> Tensor:
        ctx.save_for_backward(index if counting is None else counting)
        ctx.rows, ctx.copies = x.size(0), counting is None
        return x.index_select(0, F.pad(index, (0, max(rows - len(index), 0))))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (index,) = ctx.saved_tensors
        if ctx.copies:
            out = grad.new_zeros(ctx.rows, grad.size(1))
            return out.index_copy_(0, index, grad[: len(index)]), None, None, None
        found = grad.index_select(0, index)
        missing = ctx.rows - len(index)
        return F.pad(found, (0, 0, 0, missing)) if missing else found, None, None, None
