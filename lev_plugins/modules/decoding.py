"""A decoder that writes from left to right, in one pass or token by token.

Shapes: B sentences, T target tokens, T' the newest of them, S source tokens, C channels,
H heads, D = C / H, V symbols.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqIncrementalDecoder
from torch import Tensor, nn

from .embedding import TokenEmbedding
from .packing import Packing
from .transformer import Attention, Memory, TransformerBlock, attention_mask

KeysValues = Tuple[Tensor, Tensor]
IncrementalState = Dict[str, Dict[str, Optional[Tensor]]]
EncoderOut = Dict[str, List[Any]]
DecoderOut = Tuple[Tensor, Dict[str, Any]]


@dataclass
class SourceMemory(Memory):
    """What an encoder leaves for a decoder that runs beams.

    rows: B, which source a row belongs to: reordering the beams of one source moves nothing.
    """

    rows: Tensor = field(default_factory=lambda: torch.empty(0))

    def select(self, rows: Tensor) -> "SourceMemory":
        """The memory of the sentences at ``rows`` (long indices), projections included."""
        chosen = self.rows.index_select(0, rows)
        if torch.equal(chosen, self.rows):
            return self
        return self.moved(rows, chosen)

    def moved(self, rows: Tensor, chosen: Tensor) -> "SourceMemory":
        """:meth:`select` where something changes; subclasses move what they hold besides."""
        base = super().select(rows)
        return dataclasses.replace(
            self, states=base.states, mask=base.mask, cache=base.cache, rows=chosen
        )


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
    weights: Optional[Tensor]


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
        before: Optional[KeysValues],
        packing: Optional[Packing],
    ) -> Tuple[Tensor, KeysValues]:
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
        before: Optional[KeysValues] = None,
        packing: Optional[Packing] = None,
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
            if need_weights:
                weights.append(self.cross_attention.weights(h, memory, packing))
            return self.cross_attention(h, None, memory, packing)

        x = block.residual(x, block.self_norm, attend)
        x = block.residual(x, self.cross_norm, read)
        x = block.residual(x, block.feed_norm, block.feed_forward)
        return BlockOutput(x, generated[0], weights[0] if weights else None)


def joined(before: Optional[KeysValues], newest: KeysValues) -> KeysValues:
    """Keys and values of earlier tokens and of the newest ones."""
    if before is None:
        return newest
    return torch.cat([before[0], newest[0]], 2), torch.cat([before[1], newest[1]], 2)


class TransformerDecoder(FairseqIncrementalDecoder):
    """Embeds what was generated, runs it through the blocks, and says what comes next.

    Args:
        dictionary: of the target.
        embed: of its tokens.
        blocks: called as :class:`DecoderBlock` is.
        norm: after the last block, or None.
        output: B × T × C → B × T × V.
        limit: the longest target, in tokens.
        bias: makes the mask of self-attention, B × T' × keys, into one with a bias for each head
            (T5's relative positions), or None.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        embed: TokenEmbedding,
        blocks: Sequence[nn.Module],
        norm: Optional[nn.Module],
        output: nn.Module,
        limit: int,
        bias: Optional[nn.Module] = None,
    ) -> None:
        super().__init__(dictionary)
        self.pad, self.limit = dictionary.pad(), limit
        self.embed, self.norm, self.output, self.bias = embed, norm, output, bias
        self.blocks = nn.ModuleList(blocks)

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[EncoderOut] = None,
        incremental_state: Optional[IncrementalState] = None,
        features_only: bool = False,
        **unused: Any,
    ) -> DecoderOut:
        """Logits of the next token after every prefix.

        Args:
            prev_output_tokens: B × T, </s> and what was generated, padded on either side.
            encoder_out: the encoder's, ``{"memory": [SourceMemory]}``.
            incremental_state: when given, only tokens that it does not hold are computed.
            features_only: the states before the output layer instead of logits.

        Returns:
            B × T' × V; and ``attn``, in evaluation: how much each looked at each source token in
            the last block, B × T' × S.
        """
        x, extra = self.extract_features(prev_output_tokens, encoder_out, incremental_state)
        return x if features_only else self.output_layer(x), extra

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[EncoderOut] = None,
        incremental_state: Optional[IncrementalState] = None,
        **unused: Any,
    ) -> DecoderOut:
        """The states that :meth:`forward` projects, B × T' × C, and its ``attn``."""
        if encoder_out is None:
            raise ValueError("there is no decoder without a source: give encoder_out")
        (memory,) = encoder_out["memory"]
        saved = self._saved(incremental_state)
        first = saved[0][0].size(2) if saved else 0
        mask = self.mask(prev_output_tokens, memory, first)
        x = self.embed(prev_output_tokens, first)
        packing = None
        if self.training:
            packing = Packing.worth_it(attention_mask(prev_output_tokens.ne(self.pad)))
            x = x if packing is None else packing.pack(x)
        generated, weights = [], None
        for i, block in enumerate(self.blocks):
            looks = i + 1 == len(self.blocks) and self.needs_weights()
            before = saved[i] if saved else None
            x, pair, weights = block(x, mask, memory, before, packing, looks)
            generated.append(pair)
        self._save(incremental_state, generated)
        x = x if self.norm is None else self.norm(x)
        return x if packing is None else packing.unpack(x), {"attn": [weights]}

    def output_layer(self, features: Tensor, **unused: Any) -> Tensor:
        """B × T' × C → B × T' × V."""
        return self.output(features)

    def needs_weights(self) -> bool:
        """Whether the last block says where it looked; fairseq prints it as the alignment."""
        return not self.training

    def mask(self, tokens: Tensor, memory: Memory, first: int) -> Tensor:
        """B × (1 or H) × T' × keys: where self-attention may look, as bool or as a bias."""
        seen = causal_mask(tokens.ne(self.pad), first)
        return seen.unsqueeze(1) if self.bias is None else self.bias(seen)

    def max_positions(self) -> int:
        """The longest target, in tokens."""
        return self.limit

    # incremental decoding ---------------------------------------------------------------------

    def _saved(self, incremental_state: Optional[IncrementalState]) -> List[KeysValues]:
        """Keys and values of each block, for all tokens decoded so far; empty at the start."""
        state = None
        if incremental_state is not None:
            state = self.get_incremental_state(incremental_state, "generated")
        if not state:
            return []
        return [(state[f"key{i}"], state[f"value{i}"]) for i in range(len(self.blocks))]

    def _save(
        self, incremental_state: Optional[IncrementalState], generated: List[KeysValues]
    ) -> None:
        if incremental_state is None:
            return
        state: Dict[str, Optional[Tensor]] = {}
        for i, (key, value) in enumerate(generated):
            state[f"key{i}"], state[f"value{i}"] = key, value
        self.set_incremental_state(incremental_state, "generated", state)

    def reorder_incremental_state(
        self, incremental_state: IncrementalState, new_order: Tensor
    ) -> None:
        """Rows of the state in the order of the beams."""
        saved = self._saved(incremental_state)
        if saved:
            rows = [(k.index_select(0, new_order), v.index_select(0, new_order)) for k, v in saved]
            self._save(incremental_state, rows)


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

    def forward(self, features: Tensor) -> Tensor:
        """B × T × C → B × T × V."""
        features = features if self.scale == 1.0 else features * self.scale
        return nn.functional.linear(features, self.table.weight, self.bias)
