"""EncT5's modules: latents that read the text, the heads after them (paper, §3), a BERT's encoder.

Shapes: B rows, S subwords, L decoder positions, C channels, H heads, D channels of a head,
V latents, P positions that are real, E examples, N labels.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...nn.decoding import DecoderBlock
from ...nn.kernels import TORCH, Kernels, Linear
from ...nn.packing import AttentionLayout, Unpadding
from ...nn.t5 import T5Size
from ...nn.transformer import EncoderOutput, TransformerBlock, TransformerStack
from ...pretrained.bert_bart import DROPOUT_NAMES, BertBartConfig


class LatentDecoder(nn.Module):
    """T5's decoder blocks over latents, without a causal mask.

    Before any latent has read the text their self-attention is the same for all examples, so the
    first block computes it once, over the table. (With one latent all positions of a tagger are
    equal there, so this holds for words too.) It is the one attention without dropout on its
    weights: one mask would hold for every example of a batch.
    """

    kernels: Kernels = TORCH

    def __init__(self, size: T5Size, latents: int) -> None:
        super().__init__()
        self.dropout = size.dropout
        self.table = nn.Embedding(latents, size.dim)
        nn.init.normal_(self.table.weight)
        self.blocks = nn.ModuleList(size.decoder_block() for _ in range(size.decoder_layers))
        self.bias = size.bias(bidirectional=False)  # T5's decoder knows no other
        self.norm = size.last_norm()

    def latent_self_attention(self, block: DecoderBlock) -> Tensor:
        """Returns the first block's self-attention for each latent of the table, V × C."""
        attention = block.block.self_attention
        num_latents = self.table.num_embeddings
        x = block.block.self_norm(self.table.weight).unsqueeze(0)
        query, key, value = attention.project(x, AttentionLayout(None, None))
        # the bias of T5's decoder: whoever comes later is at distance 0
        bias = self.bias.places(num_latents, num_latents).unsqueeze(0).to(query.dtype)
        return attention.attend_to_segments(query, [(key, value)], bias).squeeze(0)

    def forward(
        self, latents: Tensor, example_ids: Tensor, states: Tensor, cross_mask: Tensor
    ) -> Tensor:
        """States of the positions that are real, row after row, P × C.

        Args:
            latents: B × L, long.
            example_ids: B × L, the example of each position, 0 at padding.
            states: of the encoder, B × S × C.
            cross_mask: B × L × S, bool: which subwords a position reads; one at least, padding too.
        """
        memory = EncoderOutput(states, cross_mask.unsqueeze(1))
        is_real = example_ids.ne(0)
        packing = self._packing(is_real)
        first, *others = self.blocks
        assert isinstance(first, DecoderBlock)
        if packing is not None:
            latents = latents.flatten()[packing.index]
        x = self._first_block(first, latents, memory, packing)
        if others:
            self_mask = example_ids.unsqueeze(2) == example_ids.unsqueeze(1)
            layout = AttentionLayout(self.bias(self_mask), packing)
            for block in others:
                x, _, _ = block(x, layout, memory)
        x = self.norm(x)
        return x[is_real] if packing is None else x

    @staticmethod
    def _packing(is_real: Tensor) -> Unpadding | None:
        """Returns how padding is left out; None where there is none.

        A single query a row is never packed: attention answers it in a way of its own.
        """
        packing = Unpadding(is_real)
        has_padding = packing.index.numel() < is_real.numel()
        return packing if has_padding and is_real.size(1) > 1 else None

    def _first_block(
        self, block: DecoderBlock, latents: Tensor, memory: EncoderOutput, packing: Unpadding | None
    ) -> Tensor:
        """Computes the first block: B × L latents → B × L × C, or packed, P → P × C."""
        inner, cross_attention = block.block, block.cross_attention
        layout = AttentionLayout(None, packing)
        attended = F.embedding(latents, self.latent_self_attention(block))
        x = self.kernels.dropout(self.table(latents), self.dropout, self.training)
        x = inner.residual(x, nn.Identity(), lambda _: attended)
        x = inner.residual(x, block.cross_norm, lambda h: cross_attention(h, layout, memory))
        return inner.residual(x, inner.feed_norm, inner.feed_forward)


class SharedHead(Linear):
    """One projection for all positions: P × C → P × outputs."""

    def __init__(self, dim: int, outputs: int) -> None:
        super().__init__(dim, outputs)
        nn.init.normal_(self.weight, std=dim**-0.5)
        nn.init.zeros_(self.bias)


class LabelHeads(nn.Module):
    """A projection of its own for each label: does it hold or not (paper, Alg. 2)."""

    kernels: Kernels = TORCH

    def __init__(self, dim: int, labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(labels, 2, dim).normal_(std=dim**-0.5))
        self.bias = nn.Parameter(torch.zeros(labels, 2))

    def forward(self, x: Tensor) -> Tensor:
        """Maps P × C, the labels of one example after those of the other → E × N × 2."""
        labels, _, dim = self.weight.shape
        x = x.view(-1, labels, dim)
        # a sum over channels for each label: as batched products, N of them
        upcast = self.kernels.upcast
        products = torch.einsum("enc,noc->eno", upcast(x), upcast(self.weight))
        return products.to(x.dtype) + self.bias


class BertEncoder(nn.Module):
    """BERT's encoder over the vectors of its tokens; a row may hold several texts.

    Called as :class:`.T5Encoder` is.
    """

    kernels: Kernels = TORCH

    def __init__(self, plan: BertBartConfig, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.places = nn.Embedding(plan.positions, plan.dim)
        self.norm = nn.LayerNorm(plan.dim, eps=plan.eps)
        size = plan.size(**dict.fromkeys(DROPOUT_NAMES, dropout))
        self.stack = TransformerStack(TransformerBlock(size) for _ in range(plan.layers))

    def forward(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """Encodes embedded tokens → states, B × S × C.

        Positions count afresh in each text, none of which may be longer than the plan's positions;
        each token has to see itself.

        Args:
            x: B × S × C.
            real: B × S, bool, False at padding.
            mask: B × 1 × S × S, bool: who sees whom in a row of texts.
        """
        seen = real[:, None, None] if mask is None else mask
        sees = seen[:, 0].expand(-1, x.size(1), -1)
        # a token's position: how many before it it sees
        num_before = sees.tril(-1).sum(2)
        positions = num_before.masked_fill(~real, 0)
        x = self.norm(x + self.places(positions))
        x = self.kernels.dropout(x, self.dropout, self.training)
        packing = self.kernels.packing(real)
        return self.stack(x, AttentionLayout(seen, packing))
