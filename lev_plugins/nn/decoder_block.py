"""Blocks of a decoder that writes from left to right, in one pass or token by token.

Shapes: B sentences, T target tokens, T' the newest of them, S source tokens, C channels,
H heads, D = C / H, V symbols.
"""

import torch
from torch import Tensor, nn

from .kernels import TORCH, Kernels
from .packing import AttentionLayout
from .transformer import Attention, EncoderOutput, TransformerBlock

KVCache = tuple[Tensor, Tensor]


def causal_mask(real: Tensor, first: int = 0) -> Tensor:
    """Masks for the queries ``first`` … T − 1 what they may not see: B × (T − first) × T.

    ``real``: B × T, bool. A padded query sees itself, so that its softmax is not empty.
    """
    place = torch.arange(real.size(1), device=real.device)
    asking = place[first:, None]
    is_written = real.unsqueeze(1) & (place <= asking)
    return is_written | (place == asking)


def append_kv(before: KVCache | None, newest: KVCache) -> KVCache:
    """Keys and values of earlier tokens and of the newest ones."""
    if before is None:
        return newest
    old_keys, old_values = before
    keys, values = newest
    return torch.cat([old_keys, keys], 2), torch.cat([old_values, values], 2)


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the source, feed-forward.

    ``block``: self-attention, feed-forward layer and their norms; perhaps an encoder's as well.
    future: whether self-attention also reads the source ahead, as PBD's.
    """

    future = False

    def __init__(
        self, block: TransformerBlock, cross_attention: Attention, cross_norm: nn.Module
    ) -> None:
        super().__init__()
        self.block = block
        self.cross_attention, self.cross_norm = cross_attention, cross_norm

    def source_layers(self) -> dict[str, nn.Module]:
        """Returns the layers that read the source, by names of what they read."""
        return {"cross": self.cross_attention}

    def keys_values(self, encoder_out: EncoderOutput) -> list[KVCache]:
        """Returns what the block reads of the source, B × H × S × D each; projected once."""
        return [self.cross_attention.keys_values(encoder_out)]

    def self_attend(
        self, x: Tensor, layout: AttentionLayout, encoder_out: EncoderOutput, before: KVCache | None
    ) -> tuple[Tensor, KVCache]:
        """Attends from the newest tokens to all; also returns keys and values of all."""
        attention = self.block.self_attention
        query, key, value = attention.project(x, layout)
        key, value = append_kv(before, (key, value))
        return attention.attend(query, key, value, layout), (key, value)

    def forward(
        self,
        x: Tensor,
        layout: AttentionLayout,
        encoder_out: EncoderOutput,
        before: KVCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, KVCache, Tensor | None]:
        """Returns the newest tokens after this block.

        Args:
            x: B × T' × C, or packed. before: keys and values of the tokens before.

        Returns:
            what ``x`` is shaped like; keys and values of all tokens so far; with ``need_weights``
            how much each of the newest looked at each of the source, B × T' × S.
        """
        block = self.block
        weights = None
        generated = before

        def attend(h: Tensor) -> Tensor:
            nonlocal generated
            out, generated = self.self_attend(h, layout, encoder_out, before)
            return out

        def read(h: Tensor) -> Tensor:
            nonlocal weights
            if not need_weights:
                return self.cross_attention(h, layout, encoder_out)
            out, weights = self.cross_attention.forward_with_weights(h, layout, encoder_out)
            return out

        x = block.residual(x, block.self_norm, attend)
        x = block.residual(x, self.cross_norm, read)
        x = block.residual(x, block.feed_norm, block.feed_forward)
        assert generated is not None
        return x, generated, weights


class TiedOutput(nn.Module):
    """The output layer that shares the embeddings: features · tableᵀ, ``table`` V × C.

    ``bias``: of each symbol. ``scale``: features are multiplied by this first (T5 1.0).
    """

    kernels: Kernels = TORCH

    def __init__(self, table: nn.Embedding, bias: bool = False, scale: float = 1.0) -> None:
        super().__init__()
        self.table = table
        self.scale = scale
        self.bias = nn.Parameter(torch.zeros(table.num_embeddings)) if bias else None

    def output_weight(self) -> Tensor:
        """Returns the output matrix: V × C."""
        return self.table.weight

    def forward(self, features: Tensor) -> Tensor:
        """Returns logits, B × T × V, of B × T × C features."""
        features = features if self.scale == 1.0 else features * self.scale
        return self.kernels.linear(features, self.output_weight(), self.bias)
