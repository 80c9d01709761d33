"""Leaving padding out of whatever works on each position by itself.

Sentences of one batch differ in length most where tokens were dropped at random: half of the
positions are then padding. Linear layers, norms and dropout run on the real positions alone, and
only attention sees the padded batch. Shapes: B × T positions, N of them real, C channels.
"""

import copy
from typing import Any, NamedTuple

import torch
from torch import Tensor

# with less padding than this the copies cost more than they save
LEAST_SHARE = 0.1


class Packing:
    """Where the real positions of a padded batch are.

    Args:
        real: B × T, bool.
    """

    def __init__(self, real: Tensor) -> None:
        self.shape = real.shape
        self.index = real.flatten().nonzero().squeeze(1)

    @classmethod
    def maybe_pack(cls, mask: Tensor | None) -> "Packing | None":
        """The packing for an attention mask (B × 1 × 1 × T), None where it would save little."""
        if mask is None:
            return None
        packing = cls(mask[:, 0, 0])
        return packing if packing.index.numel() < (1 - LEAST_SHARE) * mask.numel() else None

    def pack(self, x: Tensor) -> Tensor:
        """B × T × C → N × C."""
        return rows_at(x.flatten(0, 1), self.index)

    def unpack(self, x: Tensor) -> Tensor:
        """N × C → B × T × C, zeros at the padding."""
        b, t = self.shape
        return _Scatter.apply(x, self.index, b * t).view(b, t, -1)


class Layout(NamedTuple):
    """How a batch is read: what attention sees (B × 1 × 1 × T; None: all), and its packing."""

    mask: Tensor | None
    packing: Packing | None

    @classmethod
    def of(cls, real: Tensor, waits: bool = True) -> "Layout":
        """Of a batch whose real positions (B × T, bool) are to be looked at, or not.

        Args:
            waits: a device may be waited for, to find out how much of the batch is padding.
        """
        mask = real[:, None, None, :]
        if real.device.type != "cpu" and not waits:
            return cls(mask, None)
        packing = Packing(real)
        number = packing.index.numel()
        if number == real.numel():
            return cls(None, None)
        return cls(mask, packing if number < (1 - LEAST_SHARE) * real.numel() else None)

    def to(self, device: torch.device) -> "Layout":
        """The same on a device, for which the host does not wait."""
        mask, packing = self
        if packing is not None:
            packing = copy.copy(packing)
            packing.index = packing.index.to(device, non_blocking=True)
        return Layout(None if mask is None else mask.to(device, non_blocking=True), packing)


def rows_at(x: Tensor, index: Tensor) -> Tensor:
    """N × C, the rows of ``x`` (any × C) at ``index`` (N), each of which comes once at most."""
    return _Gather.apply(x, index)


def _scattered(x: Tensor, index: Tensor, rows: int) -> Tensor:
    return x.new_zeros(rows, x.size(1)).index_copy_(0, index, x)


class _Gather(torch.autograd.Function):
    """Rows at ``index``, each at most once: the gradient is a copy, not a sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.rows = x.size(0)
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return _scattered(grad, index, ctx.rows), None


class _Scatter(torch.autograd.Function):
    """The reverse of :class:`_Gather`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, rows: int) -> Tensor:
        ctx.save_for_backward(index)
        return _scattered(x, index, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (index,) = ctx.saved_tensors
        return grad.index_select(0, index), None, None
