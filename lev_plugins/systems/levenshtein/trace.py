"""A deletion that leaves a trace: what was deleted stays readable until its slot is filled.

The placeholder and the token head read the deleted tokens too, as such, at their old places; in a
slot they also count towards the number of tokens that it gets. Not in the paper, where nothing
says what stood in a slot.

Shapes: B sentences, L tokens that stand, T with the deleted ones, P slots, C channels.
"""

from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...nn.embedding import token_table
from ...nn.kernels import TORCH, Kernels
from ...ops.edits import Opening, true_places


class Trace(NamedTuple):
    """Sentences, and what was just deleted from them.

    tokens: B × T, those that stand and those that were deleted, in order, padded on the right.
    deleted: B × T, bool, those that were deleted.
    """

    tokens: Tensor
    deleted: Tensor

    @classmethod
    def of(cls, tokens: Tensor) -> Self:
        """Sentences that nothing was deleted from."""
        return cls(tokens, torch.zeros_like(tokens, dtype=torch.bool))

    def standing(self, pad: int) -> Tensor:
        """B × T, bool."""
        return self.tokens.ne(pad) & ~self.deleted

    def widened(self, width: int, pad: int) -> Self:
        """The same sentences, B × ``width``."""
        more = 0, width - self.tokens.size(1)
        if not more[1]:
            return self
        return type(self)(F.pad(self.tokens, more, value=pad), F.pad(self.deleted, more))

    def select(self, rows: Tensor) -> Self:
        """The sentences at ``rows``."""
        tokens = self.tokens.index_select(0, rows)
        return type(self)(tokens, self.deleted.index_select(0, rows))

    def opened(self, counts: Tensor, after: Tensor, pad: int, width: int | None = None) -> Self:
        """The sentences after an insertion; new tokens stand behind what was deleted there.

        counts: B × (L − 1), of new tokens in each slot. after: B × M, what stands then. width: of
        the longest sentence then, with what was deleted, where it is known.
        """
        standing = self.standing(pad)
        # the slot left of a token that stands, by its number among those
        numbers = standing.cumsum(1)[:, 1:]
        slots = (numbers - 2).clamp(0, counts.size(1) - 1)
        wide = counts.gather(1, slots).masked_fill(~standing[:, 1:], 0)
        lengths = self.tokens.ne(pad).sum(1)
        opened = Opening(lengths, wide, width)
        # new tokens are any but pad: all that stand come from after
        tokens = opened(self.tokens, pad - 1, pad)
        deleted = opened(self.deleted.long(), 0, 0).bool()
        stands = type(self)(tokens, deleted).standing(pad)
        tokens = torch.where(stands, _spread(after, stands), tokens)
        return type(self)(tokens, deleted)

    def spread(self, values: Tensor, pad: int) -> Tensor:
        """B × L values of what stands, bool → B × T; False where it is deleted."""
        standing = self.standing(pad)
        return standing & _spread(values, standing)


class DeletedTokens(nn.Module):
    """Parameters for reading a trace: p(count | slot) ∝ exp(B·[h_i; h_j] + D·h̄ + c_n).

    h̄ is the mean of the features of the n tokens (at most ``longest``) deleted between the
    neighbours i and j that stand; both terms are zero where nothing was deleted, and at first.
    classes: K + 1.
    """

    kernels: Kernels = TORCH

    def __init__(self, dim: int, classes: int, longest: int = 16) -> None:
        super().__init__()
        self.longest = longest
        self.mark = token_table(1, dim)  # added to the embeddings of deleted tokens
        self.what = token_table(classes, dim)
        self.count = nn.Embedding(longest, classes)
        for head in (self.what, self.count):
            nn.init.zeros_(head.weight)

    def forward(self, features: Tensor, places: Tensor, slot: Tensor, slots: int) -> Tensor:
        """What the tokens deleted at ``places``, each in a ``slot``, add to P × (K + 1) logits."""
        rows = features.index_select(0, places)
        sums = features.new_zeros(slots, features.size(1)).index_add(0, slot, rows)
        number = slot.new_zeros(slots).index_add(0, slot, torch.ones_like(slot))
        mean = sums / number.clamp(min=1).unsqueeze(1)
        count = self.count((number - 1).clamp(0, self.longest - 1))
        return self.kernels.linear(mean, self.what.weight) + count * number.gt(0).unsqueeze(1)


def slot_ends(standing: Tensor, slots: int | None = None) -> tuple[Tensor, Tensor]:
    """Places (flat, P each) of the tokens left and right of every slot, of B × T ``standing``;
    ``slots``: P, where it is known."""
    number = standing.cumsum(1)
    is_first = number.eq(1)
    is_last = number.eq(number[:, -1:])
    left = true_places(standing & ~is_last, slots)
    right = true_places(standing & ~is_first, slots)
    return left, right


def _spread(values: Tensor, standing: Tensor) -> Tensor:
    """B × L values of what stands, in order → B × T, at the places where it is ``standing``."""
    number = (standing.cumsum(1) - 1).clamp(0, values.size(1) - 1)
    return values.gather(1, number)
