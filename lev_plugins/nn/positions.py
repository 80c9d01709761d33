"""Position embeddings, counted from the first real token so that left padding changes nothing."""

import math

import torch
from torch import Tensor, nn


class Positions(nn.Module):
    """Sinusoidal (Vaswani et al., 2017, §3.5) or learned positions.

    Args:
        length: the longest sequence, in tokens.
        dim: width of an embedding.
        pad: padding index; as in fairseq the first token has position ``pad + 1``.
        learned: a table of parameters instead of sines.
    """

    def __init__(self, length: int, dim: int, pad: int, learned: bool = False) -> None:
        super().__init__()
        self.pad = pad
        table = _sinusoids(length + pad + 1, dim, pad)
        if learned:
            nn.init.normal_(table, mean=0.0, std=dim**-0.5)
            table[pad].zero_()
            self.weight = nn.Parameter(table)
        else:
            self.register_buffer("weight", table, persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """B × T tokens → B × T × dim.

        Raises:
            ValueError: a sequence is longer than the table.
        """
        if tokens.size(1) > self.weight.size(0) - self.pad - 1:
            raise ValueError(
                f"a sequence of {tokens.size(1)} tokens is longer than the "
                f"{self.weight.size(0) - self.pad - 1} positions of the model"
            )
        real = tokens.ne(self.pad)
        index = real.cumsum(1) * real + self.pad
        return nn.functional.embedding(index, self.weight)


def _sinusoids(rows: int, dim: int, pad: int) -> Tensor:
    half = dim // 2
    rate = torch.exp(torch.arange(half) * -(math.log(10000.0) / max(half - 1, 1)))
    angle = torch.arange(rows).unsqueeze(1) * rate.unsqueeze(0)
    table = torch.cat([angle.sin(), angle.cos()], dim=1)
    if dim % 2:
        table = torch.cat([table, torch.zeros(rows, 1)], dim=1)
    table[pad].zero_()
    return table
