"""Blocks of a decoder that writes from left to right, in one pass or token by token.

Shapes: B sentences, T target tokens, T' the newest of them, S source tokens, C channels,
H heads, D = C / H, V symbols.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from .cpu import linear
from .packing import Packing
from .transformer import Attention, Memory, TransformerBlock

KeysValues = tuple[Tensor, Tensor]


@dataclass
class SourceMemory(Memory):
    """What an encoder leaves for a decoder that runs beams.

    rows: B, which source a row belongs to: reordering the beams of one source moves nothing.
    """

    rows: Tensor = field(default_factory=lambda: torch.empty(0))

    def select(self, rows: Tensor) -> Self:
        """The memory of the sentences at ``rows`` (long indices), projections included."""
        if torch.equal(self.rows.index_select(0, rows), self.rows):
            return self
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(self, **_at(held, rows))


def _at(held: Any, rows: Tensor) -> Any:
    """A tensor's rows, and those of tensors in lists, tuples and dicts; else what is there."""
    if isinstance(held, Tensor):
        return held.index_select(0, rows)
    if isinstance(held, dict):
        return {name: _at(one, rows) for name, one in held.items()}
    return type(held)(_at(one, rows) for one in held) if isinstance(held, list | tuple) else held


def causal_mask(real: Tensor, first: int = 0) -> Tensor:
    """What the queries ``first`` … T − 1 see of the tokens generated: B × (T − first) × T.

    Args:
        real: B × T, bool. A padded query sees itself, so that its softmax is not empty.
    """
    place = torch.arange(real.size(1), device=real.device)
    asking = place[first:, None]
    return (real.unsqueeze(1) & (place <= asking)) | (place == asking)


class BlockOutput(NamedTuple):
    """What a block leaves.

    x: shaped like its input. generated: keys and values of all tokens so far. weights: how much
    each of the newest tokens looked at each of the source, B × T' × S, or None.
    """

    x: Tensor
    generated: KeysValues
    weights: Tensor | None


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the source, feed-forward.

    Args:
        block: self-attention, feed-forward layer and their norms; perhaps an encoder's as well.
        cross_attention, cross_norm: for the source.
    """

    def __init__(
        self, block: TransformerBlock, cross_attention: Attention, cross_norm: nn.Module
    ) -> None:
        super().__init__()
        self.block = block
        self.cross_attention, self.cross_norm = cross_attention, cross_norm

    def self_attend(
        self,
        x: Tensor,
        mask: Tensor,
        memory: Memory,
        before: KeysValues | None,
        packing: Packing | None,
    ) -> tuple[Tensor, KeysValues]:
        """The newest tokens attend to all: what ``x`` is shaped like, keys and values of all."""
        attention = self.block.self_attention
        query, key, value = attention.project(x, packing)
        key, value = joined(before, (key, value))
        return attention.attend(query, key, value, mask, packing), (key, value)

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        memory: Memory,
        before: KeysValues | None = None,
        packing: Packing | None = None,
        need_weights: bool = False,
    ) -> BlockOutput:
        """The states of the newest tokens, after this block.

        Args:
            x: B × T' × C, or packed. mask: B × 1 × T' × keys, True where attention may look.
            before: keys and values of the tokens before.
            need_weights: whether to say where the block looked in the source.
        """
        block, generated, weights = self.block, [], []

        def attend(h: Tensor) -> Tensor:
            out, pair = self.self_attend(h, mask, memory, before, packing)
            generated.append(pair)
            return out

        def read(h: Tensor) -> Tensor:
            if not need_weights:
                return self.cross_attention(h, None, memory, packing)
            out, looks = self.cross_attention.forward_with_weights(h, memory, packing)
            weights.append(looks)
            return out

        x = block.residual(x, block.self_norm, attend)
        x = block.residual(x, self.cross_norm, read)
        x = block.residual(x, block.feed_norm, block.feed_forward)
        return BlockOutput(x, generated[0], weights[0] if weights else None)


def joined(before: KeysValues | None, newest: KeysValues) -> KeysValues:
    """Keys and values of earlier tokens and of the newest ones."""
    if before is None:
        return newest
    return torch.cat([before[0], newest[0]], 2), torch.cat([before[1], newest[1]], 2)


class TiedOutput(nn.Module):
    """The output layer that shares the embeddings: features · tableᵀ.

    Args:
        table: V × C.
        bias: whether each symbol has one.
        scale: features are multiplied by this first (T5 1.0).
    """

    def __init__(self, table: nn.Embedding, bias: bool = False, scale: float = 1.0) -> None:
        super().__init__()
        self.table, self.scale = table, scale
        self.bias = nn.Parameter(torch.zeros(table.num_embeddings)) if bias else None

    def output_weight(self) -> Tensor:
        """What features become logits of symbols by: V × C."""
        return self.table.weight

    def forward(self, features: Tensor) -> Tensor:
        """B × T × C → B × T × V."""
        features = features if self.scale == 1.0 else features * self.scale
        return linear(features, self.output_weight(), self.bias)
