"""Leaving padding out of whatever works on each position by itself.

Where tokens were dropped at random, half of a batch's positions are padding. Linear layers, norms
and dropout run on the real positions alone, and only attention sees the padded batch. That is for
a CPU: an accelerator would have to be waited for to know how many there are. Shapes: B × T
positions, N of them real, C channels.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .accelerator import is_accelerator
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
        if is_accelerator(real):
            return None
        packing = cls(real, pads_rows=True)
        return packing if len(packing.index) < (1 - LEAST_SHARE) * real.numel() else None

    def pack(self, x: Tensor) -> Tensor:
        """B × T × C → N × C; more rows than N where that spares kernels."""
        x, rows = x.flatten(0, 1), len(self.index)
        if self.pads_rows and x.dtype == torch.bfloat16 and x.device.type == "cpu":
            rows = padded_rows(rows)
        return x.index_select(0, F.pad(self.index, (0, rows - len(self.index))))

    def unpack(self, x: Tensor) -> Tensor:
        """N × C → B × T × C; at padding, which nobody looks at, some of the N stand again."""
        return x.index_select(0, self.source).unflatten(0, self.shape)


class Layout(NamedTuple):
    """How a batch is read.

    mask: what attention sees, bool or to be added to the scores, expands to B × H × T × keys; None
    for all. packing: None where padding is kept. turns: of rotary positions, B × 1 × T × D/2.
    pack, unpack: as a packing's, or what comes in.
    """

    mask: Tensor | None = None
    packing: Packing | None = None
    turns: Tensor | None = None

    def pack(self, x: Tensor) -> Tensor:
        return x if self.packing is None else self.packing.pack(x)

    def unpack(self, x: Tensor) -> Tensor:
        return x if self.packing is None else self.packing.unpack(x)

    @classmethod
    def of(cls, real: Tensor) -> "Layout":
        """Of real positions, B × T, bool; on an accelerator a mask, on a CPU packed."""
        mask = real[:, None, None, :]
        if is_accelerator(real):
            return cls(mask)
        return cls() if bool(real.all()) else cls(mask, Packing.maybe_pack(real))
