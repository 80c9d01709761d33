"""EncT5's decoder: latents that read the text, and the heads behind them (paper, §3).

Shapes: B rows, S pieces, L decoder positions, C channels, V latents, P positions that are real,
E examples, N labels.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...modules.decoding import DecoderBlock
from ...modules.t5 import T5Size
from ...modules.transformer import Memory


class LatentDecoder(nn.Module):
    """T5's decoder blocks over latents, without a causal mask.

    What the latents say to each other before any of them has read the text is the same for all
    examples: the first block's self-attention is computed once, over the table. (With one latent
    all positions of a tagger are equal there, so this holds for words too.)

    Args:
        size: of the T5.
        latents: V.
        layers: number of blocks (paper: 1).
    """

    def __init__(self, size: T5Size, latents: int, layers: int) -> None:
        super().__init__()
        self.dropout = size.dropout
        self.table = nn.Embedding(latents, size.dim)
        nn.init.normal_(self.table.weight)
        self.blocks = nn.ModuleList(size.decoder_block() for _ in range(layers))
        self.bias = size.bias(both_ways=False)  # T5's decoder knows no other
        self.norm = size.last_norm()

    def greetings(self, block: DecoderBlock) -> Tensor:
        """V × C: what each latent hears from all in the first block's self-attention."""
        attention = block.block.self_attention
        x = block.block.self_norm(self.table.weight).unsqueeze(0)
        query, key, value = attention.project(x, None)
        places = self.bias.places(x.size(1), x.size(1)).unsqueeze(0)
        return attention.attend(query, key, value, places.to(query.dtype), None).squeeze(0)

    def forward(self, latents: Tensor, same: Tensor, states: Tensor, sees: Tensor) -> Tensor:
        """States of the positions, B × L × C.

        Args:
            latents: B × L, long.
            same: B × L × L, bool: which positions belong to one example; each to its own.
            states: of the encoder, B × S × C.
            sees: B × L × S, bool: which pieces a position reads; each one at least.
        """
        memory = Memory(states, sees.unsqueeze(1))
        first, *others = self.blocks
        assert isinstance(first, DecoderBlock)
        x = self._first(first, latents, memory)
        if others:
            bias = self.bias(same)
            for block in others:
                x = block(x, bias, memory).x
        return self.norm(x)

    def _first(self, block: DecoderBlock, latents: Tensor, memory: Memory) -> Tensor:
        heard = F.embedding(latents, self.greetings(block))
        inner, cross = block.block, block.cross_attention
        x = F.dropout(self.table(latents), self.dropout, self.training)
        x = inner.residual(x, nn.Identity(), lambda _: heard)
        x = inner.residual(x, block.cross_norm, lambda h: cross(h, None, memory))
        return inner.residual(x, inner.feed_norm, inner.feed_forward)


class SharedHead(nn.Linear):
    """One projection for all positions: P × C → P × outputs."""

    def __init__(self, dim: int, outputs: int) -> None:
        super().__init__(dim, outputs)
        nn.init.normal_(self.weight, std=dim**-0.5)
        nn.init.zeros_(self.bias)


class LabelHeads(nn.Module):
    """A projection of its own for each label: does it hold or not (paper, Alg. 2).

    Args:
        dim: C.
        labels: N.
    """

    def __init__(self, dim: int, labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(labels, 2, dim).normal_(std=dim**-0.5))
        self.bias = nn.Parameter(torch.zeros(labels, 2))

    def forward(self, x: Tensor) -> Tensor:
        """P × C, the labels of one example after those of the other → E × N × 2."""
        labels, _, dim = self.weight.shape
        x = x.view(-1, labels, dim)
        # a sum over channels for each label: as batched products, N of them
        return torch.einsum("enc,noc->eno", x, self.weight) + self.bias
