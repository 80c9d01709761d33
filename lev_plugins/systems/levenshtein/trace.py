"""A deletion that leaves a trace: what was deleted stays readable until its slot is filled.

The placeholder and the token head read the deleted tokens too, as such, at their old places; in a
slot they also count towards the number of tokens that it gets. Not in the paper, where nothing
says what stood in a slot.

Shapes: B sentences, L tokens that stand, T with the deleted ones, P slots.
"""

from typing import Self

import torch
from torch import Tensor

from lev_runtime import traces

from ...nn.arrays import TORCH
from ...ops.edits import true_places


class Trace(traces.Trace):
    """Tensors of sentences, and of what was just deleted from them."""

    arrays = TORCH

    @classmethod
    def of(cls, tokens: Tensor) -> Self:
        """Sentences that nothing was deleted from."""
        return cls(tokens, torch.zeros_like(tokens, dtype=torch.bool))


def slot_ends(standing: Tensor, slots: int | None = None) -> tuple[Tensor, Tensor]:
    """Places (flat, P each) of the tokens left and right of every slot, of B × T ``standing``;
    ``slots``: P, where it is known."""
    number = standing.cumsum(1)
    is_first = number.eq(1)
    is_last = number.eq(number[:, -1:])
    left = true_places(standing & ~is_last, slots)
    right = true_places(standing & ~is_first, slots)
    return left, right
