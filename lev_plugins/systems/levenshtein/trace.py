"""A deletion that leaves a trace: what was deleted stays readable until its slot is filled.

The placeholder and the token head read the deleted tokens too, as such, at their old places; in a
slot they also count towards the number of tokens that it gets. Not in the paper, where nothing
says what stood in a slot.

Shapes: B sentences, L tokens that stand, T with the deleted ones, P slots, C channels.
"""

from typing import Self

import torch
from torch import Tensor, nn

from lev_runtime import traces

from ...nn.arrays import TORCH
from ...nn.embedding import token_table
from ...nn.kernels import TORCH as TORCH_KERNELS
from ...nn.kernels import Kernels
from ...ops.edits import true_places


class Trace(traces.Trace):
    """Tensors of sentences, and of what was just deleted from them."""

    arrays = TORCH

    @classmethod
    def of(cls, tokens: Tensor) -> Self:
        """Sentences that nothing was deleted from."""
        return cls(tokens, torch.zeros_like(tokens, dtype=torch.bool))


class DeletedTokens(nn.Module):
    """Parameters for reading a trace: p(count | slot) ∝ exp(B·[h_i; h_j] + D·h̄ + c_n).

    h̄ is the mean of the features of the n tokens (at most ``longest``) deleted between the
    neighbours i and j that stand; both terms are zero where nothing was deleted, and at first.
    classes: K + 1.
    """

    kernels: Kernels = TORCH_KERNELS

    def __init__(self, dim: int, classes: int, longest: int = 16) -> None:
        super().__init__()
        self.longest = longest
        self.mark = token_table(1, dim)  # added to the embeddings of deleted tokens
        self.what = token_table(classes, dim)
        self.count = nn.Embedding(longest, classes)
        for head in (self.what, self.count):
            nn.init.zeros_(head.weight)

    def forward(self, features: Tensor, places: Tensor, slots: Tensor, slot_count: int) -> Tensor:
        """What the tokens deleted at ``places``, each in one of the P ``slots``, add to the
        P × (K + 1) logits. features: of all tokens, B·T × C."""
        deleted = features.index_select(0, places)
        zeros = features.new_zeros(slot_count, features.size(1))
        sums = zeros.index_add(0, slots, deleted)
        counts = slots.new_zeros(slot_count).index_add(0, slots, torch.ones_like(slots))
        mean = sums / counts.clamp(min=1).unsqueeze(1)
        of_count = self.count((counts - 1).clamp(0, self.longest - 1))
        of_tokens = self.kernels.linear(mean, self.what.weight)
        has_deleted = counts.gt(0).unsqueeze(1)
        return of_tokens + of_count * has_deleted


def slot_ends(standing: Tensor, slots: int | None = None) -> tuple[Tensor, Tensor]:
    """Places (flat, P each) of the tokens left and right of every slot, of B × T ``standing``;
    ``slots``: P, where it is known."""
    number = standing.cumsum(1)
    is_first = number.eq(1)
    is_last = number.eq(number[:, -1:])
    left = true_places(standing & ~is_last, slots)
    right = true_places(standing & ~is_first, slots)
    return left, right


def wide_trace(tokens: Tensor, deleted: Tensor | None, width: int, pad: int) -> Trace:
    """Tokens, B × ``width``, and which of them were deleted: none without ``deleted``."""
    trace = Trace.of(tokens) if deleted is None else Trace(tokens, deleted)
    return trace.widened(width, pad)
