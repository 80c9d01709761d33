"""Token embeddings and positional encodings."""

import math

import torch
from torch import Tensor, nn

from .kernels import TORCH, Kernels


class Positions(nn.Module):
    """Sinusoidal (Vaswani et al., 2017, §3.5) or ``learned`` positions, a table of parameters.

    Counted from the first real token, so that left padding changes nothing. ``length``: the longest
    sequence, in tokens; ``pad``: as in fairseq the first token has position ``pad + 1``.
    """

    def __init__(self, length: int, dim: int, pad: int, learned: bool = False) -> None:
        super().__init__()
        self.pad = pad
        half = dim // 2
        step = math.log(10000.0) / max(half - 1, 1)
        rate = torch.exp(torch.arange(half) * -step)
        angle = torch.arange(length + pad + 1).unsqueeze(1) * rate.unsqueeze(0)
        odd = torch.zeros(len(angle), dim % 2)  # a channel without a partner
        table = torch.cat([angle.sin(), angle.cos(), odd], dim=1)
        if learned:
            nn.init.normal_(table, mean=0.0, std=dim**-0.5)
        table[pad].zero_()
        if learned:
            self.weight = nn.Parameter(table)
        else:
            self.register_buffer("weight", table, persistent=False)

    @property
    def longest(self) -> int:
        """Returns the tokens of the longest sequence."""
        return self.weight.size(0) - self.pad - 1

    def forward(self, tokens: Tensor) -> Tensor:
        """Encodes B × T tokens: B × T × dim; ValueError for a sequence longer than the table."""
        real = tokens.ne(self.pad).long()  # ONNX sums no bools
        most = self.longest
        index = real.cumsum(1) * real + self.pad
        if tokens.size(1) > most:
            length = int(real.sum(1).max())
            if length > most:
                raise ValueError(f"a sequence of {length} tokens is longer than the model's {most}")
        return nn.functional.embedding(index, self.weight)

    def at(self, places: Tensor) -> Tensor:
        """Encodes places, 0 that of the first token: any shape → that shape × dim."""
        return nn.functional.embedding(places + (self.pad + 1), self.weight)


class TokenEmbedding(nn.Module):
    """A token's vector, its place and what a pre-trained model does with the sum.

    table: V × C. positions: None for models that know places otherwise. scale: the vectors are
    multiplied by this, by default the root of C. norm: of the sum, or None.
    """

    kernels: Kernels = TORCH

    def __init__(
        self,
        table: nn.Embedding,
        positions: Positions | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.table, self.positions = table, positions
        self.norm: nn.Module | None = None
        self.scale = table.embedding_dim**0.5 if scale is None else scale
        self.dropout = dropout

    def forward(self, tokens: Tensor, first: int = 0) -> Tensor:
        """Embeds B × T tokens from ``first`` on: B × (T − first) × C."""
        where = None if self.positions is None else self.positions(tokens)[:, first:]
        return self._placed(tokens[:, first:], where)

    def at(self, tokens: Tensor, places: Tensor) -> Tensor:
        """Embeds B × T tokens that stand at places, 0 that of the first: B × T × C."""
        return self._placed(tokens, None if self.positions is None else self.positions.at(places))

    def _placed(self, tokens: Tensor, where: Tensor | None) -> Tensor:
        x = self.scaled_embedding(tokens)
        x = x if where is None else x + where
        x = x if self.norm is None else self.norm(x)
        return self.kernels.dropout(x, self.dropout, self.training)

    def scaled_embedding(self, tokens: Tensor) -> Tensor:
        """Returns the tokens' own vectors, wherever they stand: any shape → that shape × C."""
        x = self.table(tokens)
        return x if self.scale == 1.0 else x * self.scale


def token_table(rows: int, dim: int, pad: int | None = None) -> nn.Embedding:
    """Makes a table of embeddings, initialised as fairseq does."""
    table = nn.Embedding(rows, dim, padding_idx=pad)
    nn.init.normal_(table.weight, std=dim**-0.5)
    if pad is not None:
        nn.init.zeros_(table.weight[pad])
    return table
