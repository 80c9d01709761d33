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

#: how many numbers of rows there are from a power of two to the next (:func:`round_up_rows`)
SIZES_AN_OCTAVE = 16


def round_up_rows(rows: int) -> int:
    """Rounds a number of rows up, by a sixteenth at most, so that a backend meets few shapes.

    oneDNN makes a kernel for each shape that it has not met. In bfloat16, with tiles (AMX), that
    takes longer than most products do.
    """
    step = (1 << rows.bit_length()) // 2 // SIZES_AN_OCTAVE
    return rows + -rows % max(step, 1)


class Unpadding:
    """Places of the real positions (B × T, bool) of a padded batch.

    ``rounds_up``: more rows than N may be packed, all readers take what :meth:`pack` gives.
    index: N, long, the real positions in the flattened batch. source: B·T, long, for each padded
    position the row of its packed token (at padding: of the last real token before it).
    """

    def __init__(self, real: Tensor, rounds_up: bool = False) -> None:
        self.shape = real.shape
        self.rounds_up = rounds_up
        flat = real.flatten()
        self.index = flat.nonzero().squeeze(1)
        self.source = (flat.cumsum(0) - 1).clamp(min=0)

    def pack(self, x: Tensor) -> Tensor:
        """Packs B × T × C → N × C; more rows than N where that spares kernels."""
        x = x.flatten(0, 1)
        rows = len(self.index)
        if self.rounds_up and x.dtype == torch.bfloat16:
            rows = round_up_rows(rows)
        index = F.pad(self.index, (0, rows - len(self.index)))
        return x.index_select(0, index)

    def unpack(self, x: Tensor) -> Tensor:
        """Unpacks N × C → B × T × C; padding, which nobody reads, repeats some of the N."""
        return x.index_select(0, self.source).unflatten(0, self.shape)


class AttentionLayout(NamedTuple):
    """Mask, packing and positions of a batch.

    mask: what attention sees, bool or to be added to the scores, expands to B × H × T × keys; None
    for all. packing: None where padding is kept. rotary_angles: B × 1 × T × D/2 × 2.
    pack, unpack: as a packing's, or what comes in.
    """

    mask: Tensor | None = None
    packing: Unpadding | None = None
    rotary_angles: Tensor | None = None

    def pack(self, x: Tensor) -> Tensor:
        return x if self.packing is None else self.packing.pack(x)

    def unpack(self, x: Tensor) -> Tensor:
        return x if self.packing is None else self.packing.unpack(x)
