"""A pointer from the token head to the source, for what is written alike in both languages.

o_v = e_v · h + λ(h) · Σ_s a_s [x_s = v], with a = softmax_s(q(h) · k(m_s) / √C), where m are the
encoder's states of the source's tokens x. Not in the paper; needs one dictionary for both sides.

Shapes: B sentences, T tokens, S source tokens, P places where a token is predicted, C channels.
"""

from typing import Any

import torch
from torch import Tensor, nn

from ...nn.kernels import Linear


class SourcePointer(nn.Module):
    """Parameters of q, k and λ."""

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

    def forward(self, logits: Tensor, features: Tensor, places: Tensor, memory: Any) -> Tensor:
        """The logits (P × V) with what the pointer adds; ``memory.source`` is B × S.

        features: B × T × C. places: P, in B × T laid flat.
        """
        scores = self.query(features) @ self.key(memory.states).transpose(1, 2)
        scores = scores * features.size(2) ** -0.5
        if memory.mask is not None:
            scores = scores.masked_fill(~memory.mask[:, 0], float("-inf"))
        width = features.size(1)
        row = places.div(width, rounding_mode="floor")
        column = places.remainder(width)
        wide = torch.promote_types(scores.dtype, torch.float32)
        looks = scores[row, column].softmax(1, dtype=wide)
        looks = looks * self.scale(features[row, column])
        return logits.scatter_add_(1, memory.source[row], looks.to(logits.dtype))
