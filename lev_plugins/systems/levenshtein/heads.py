"""The heads, which turn features of the decoder into logits (paper, Eq. 3 to 5).

Shapes: B sentences, T tokens of the sequence being edited, S source tokens, P places that a head
decides about, C channels.
"""

import torch
from torch import Tensor, nn

from ...nn.embedding import token_table
from ...nn.kernels import TORCH, Kernels, Linear


class _Undecided(nn.Embedding):
    """A row for each class.

    Zero at first, so that the first gradients do not disturb the decoder.
    """

    kernels: Kernels = TORCH

    def __init__(self, classes: int, dim: int) -> None:
        super().__init__(classes, dim)
        nn.init.normal_(self.weight)  # drawn in vain, so that a seed gives the model that it gave
        nn.init.zeros_(self.weight)


class DeletionHead(_Undecided):
    """π_del: keep (0) or delete (1) each token (Eq. 3)."""

    def forward(self, features: Tensor) -> Tensor:
        """Returns logits: … × C → … × 2."""
        return self.kernels.linear(features, self.weight)


class PlaceholderHead(_Undecided):
    """π_plh: how many tokens, 0 to K_max, are missing in a slot, by its two neighbours (Eq. 4)."""

    def __init__(self, max_insertions: int, dim: int) -> None:
        super().__init__(max_insertions + 1, 2 * dim)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:  # type: ignore[override]
        """Returns logits of the slots between the left and right features: … × C → … × (K + 1)."""
        # concat(h_i, h_i+1) · Bᵀ without making the concatenation
        first, second = self.weight.chunk(2, dim=1)
        return self.kernels.linear(left, first) + self.kernels.linear(right, second)


class DeletedTokens(nn.Module):
    """Parameters for reading a trace: p(count | slot) ∝ exp(B·[h_i; h_j] + D·h̄ + c_n).

    h̄ is the mean of the features of the n tokens (at most ``longest``) deleted between the
    neighbours i and j that stand; both terms are zero where nothing was deleted, and at first.
    classes: K + 1. Not in the paper.
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

    def forward(self, features: Tensor, places: Tensor, slots: Tensor, slot_count: int) -> Tensor:
        """Returns what deleted tokens add to the logits of the slots: P × (K + 1).

        features: of all tokens, B·T × C. places: of the deleted tokens there. slots: the slot of
        each, of P = ``slot_count``.
        """
        deleted = features.index_select(0, places)
        zeros = features.new_zeros(slot_count, features.size(1))
        sums = zeros.index_add(0, slots, deleted)
        counts = slots.new_zeros(slot_count).index_add(0, slots, torch.ones_like(slots))
        mean = sums / counts.clamp(min=1).unsqueeze(1)
        of_count = self.count((counts - 1).clamp(0, self.longest - 1))
        of_tokens = self.kernels.linear(mean, self.what.weight)
        has_deleted = counts.gt(0).unsqueeze(1)
        return of_tokens + of_count * has_deleted


class SourcePointer(nn.Module):
    """Copies source tokens, for what is written alike in both languages.

    o_v = e_v · h + λ(h) · Σ_s a_s [x_s = v], with a = softmax_s(q(h) · k(m_s) / √C), where m are
    the encoder's states of the source tokens x. Not in the paper; needs one dictionary for both
    sides.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.query = Linear(dim, dim)
        self.key = Linear(dim, dim)
        self.scale = Linear(dim, 1)
        for layer in (self.query, self.key):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        nn.init.zeros_(self.scale.weight)
        nn.init.ones_(self.scale.bias)

    def forward(
        self,
        logits: Tensor,
        features: Tensor,
        places: Tensor,
        keys: Tensor,
        source: Tensor,
        mask: Tensor | None,
    ) -> Tensor:
        """Adds the pointer's scores to the logits, P × V.

        features: B × T × C. places: P, in B × T flattened. keys: B × S × C, what :attr:`key` makes
        of the encoder's states. source: B × S. mask: as of :class:`.EncoderOutput`.
        """
        scores = self.query(features) @ keys.transpose(1, 2)
        scores = scores * features.size(2) ** -0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, 0], float("-inf"))
        wide = torch.promote_types(scores.dtype, torch.float32)
        looks = scores.flatten(0, 1).index_select(0, places).softmax(1, dtype=wide)
        looks = looks * self.scale(features.flatten(0, 1).index_select(0, places))
        row = places.div(features.size(1), rounding_mode="floor")
        return logits.scatter_add_(1, source.index_select(0, row), looks.to(logits.dtype))
