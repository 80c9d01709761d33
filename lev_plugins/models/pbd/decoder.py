"""The decoder: writes from left to right with the rest of the source in sight (paper, §2).

Shapes: B sentences, T target tokens, S source tokens, C channels, V symbols.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from fairseq.models import FairseqIncrementalDecoder
from torch import Tensor, nn

from ...modules import Positions, TransformerBlock
from ...modules.packing import Packing
from ...modules.transformer import Attention, attention_mask
from .attention import KeysValues, PseudoBidirectionalAttention, causal_mask, future_mask
from .config import PBDTransformerConfig
from .encoder import EncoderOut, PBDMemory

IncrementalState = Dict[str, Dict[str, Optional[Tensor]]]


class PBDDecoderBlock(nn.Module):
    """Self-attention with pseudo future, attention to the source, feed-forward.

    Args:
        cfg: the model's options.
        block: its self-attention, feed-forward layer and their norms; the encoder's block where
            parameters are shared (§2.2).
    """

    def __init__(self, cfg: PBDTransformerConfig, block: TransformerBlock) -> None:
        super().__init__()
        self.block = block
        self.future = not cfg.no_future_modelling
        self.self_attention = PseudoBidirectionalAttention(
            block.self_attention, self.future and not cfg.no_segment_embedding
        )
        dim, heads = cfg.encoder_embed_dim, cfg.encoder_attention_heads
        self.cross_attention = Attention(dim, heads, cfg.attention_dropout, cross=True)
        self.cross_norm = nn.LayerNorm(dim)

    def _copied(self, states: Tensor, memory: PBDMemory) -> KeysValues:
        """Keys and values of the copied states, projected once per source."""
        # the module alone would be the encoder's too
        key = id(self.self_attention)
        if key not in memory.cache:
            norm = self.block.self_norm
            states = norm(states) if self.block.pre_norm else states
            memory.cache[key] = self.self_attention.copied(states, memory.packing)
        return memory.cache[key]

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        memory: PBDMemory,
        states: Tensor,
        before: Optional[KeysValues] = None,
        packing: Optional[Packing] = None,
        need_weights: bool = False,
    ) -> "BlockOutput":
        """The states of the newest tokens, after this block.

        Args:
            x: B × T' × C, or packed. mask: B × 1 × T' × keys.
            states: what is copied of the encoder's block.
            before: keys and values of the tokens before.
            need_weights: whether to say where the block looked in the source.
        """
        copied = self._copied(states, memory) if self.future else None
        block, generated, weights = self.block, [], []

        def attend(h: Tensor) -> Tensor:
            out, pair = self.self_attention(h, mask, before, copied, packing)
            generated.append(pair)
            return out

        def read(h: Tensor) -> Tensor:
            if need_weights:
                weights.append(self.cross_attention.weights(h, memory))
            return self.cross_attention(h, None, memory, packing)

        x = block.residual(x, block.self_norm, attend)
        x = block.residual(x, self.cross_norm, read)
        x = block.residual(x, block.feed_norm, block.feed_forward)
        return BlockOutput(x, generated[0], weights[0] if weights else None)


class BlockOutput(NamedTuple):
    """What a block leaves.

    x: shaped like its input. generated: keys and values of all tokens so far. weights: how much
    each of the newest tokens looked at each of the source, B × T' × S, or None.
    """

    x: Tensor
    generated: KeysValues
    weights: Optional[Tensor]


class PBDDecoder(FairseqIncrementalDecoder):
    """Embeds what was generated, runs it through the blocks, and says what comes next.

    Args:
        cfg: the model's options.
        dictionary: of the target.
        embed: its table, V × C.
        positions: what is added for each token's place.
        blocks: one for each of the encoder's where those share or copy.
        norm: after the last block with pre-norm, else None.
        output: the table of the output, V × C.
    """

    def __init__(
        self,
        cfg: PBDTransformerConfig,
        dictionary: Dictionary,
        embed: nn.Embedding,
        positions: Positions,
        blocks: Sequence[PBDDecoderBlock],
        norm: Optional[nn.LayerNorm],
        output: nn.Embedding,
    ) -> None:
        super().__init__(dictionary)
        self.pad = dictionary.pad()
        self.dropout = cfg.dropout
        self.future = not cfg.no_future_modelling
        self.limit = cfg.max_target_positions
        self.embed_tokens, self.embed_positions = embed, positions
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm
        self.output = output

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[EncoderOut] = None,
        incremental_state: Optional[IncrementalState] = None,
        features_only: bool = False,
        **unused: Any,
    ) -> Tuple[Tensor, Dict[str, List[Optional[Tensor]]]]:
        """Logits of the next token after every prefix.

        Args:
            prev_output_tokens: B × T, </s> and what was generated.
            encoder_out: the encoder's.
            incremental_state: when given, only tokens that it does not hold are computed.
            features_only: the states before the output layer instead of logits.

        Returns:
            B × T × V, with a state B × the newest tokens × V; and ``attn``, in evaluation: how
            much each looked at each source token in the last block, B × T × S.
        """
        x, extra = self.extract_features(prev_output_tokens, encoder_out, incremental_state)
        return x if features_only else self.output_layer(x), extra

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[EncoderOut] = None,
        incremental_state: Optional[IncrementalState] = None,
        **unused: Any,
    ) -> Tuple[Tensor, Dict[str, List[Optional[Tensor]]]]:
        """The states that :meth:`forward` projects, B × T × C, and its ``attn``."""
        if encoder_out is None:
            raise ValueError("pbd_transformer has no decoder without a source: give encoder_out")
        (memory,) = encoder_out["memory"]
        saved = self._saved(incremental_state)
        first = saved[0][0].size(2) if saved else 0
        mask = self._mask(prev_output_tokens, memory, first)
        x = self._embed(prev_output_tokens, first)
        packing = None
        if self.training:
            packing = Packing.worth_it(attention_mask(prev_output_tokens.ne(self.pad)))
            x = x if packing is None else packing.pack(x)
        states = memory.copied if self.future else [x] * len(self.blocks)
        generated, weights = [], None
        for i, block in enumerate(self.blocks):
            last = i + 1 == len(self.blocks) and not self.training
            before = saved[i] if saved else None
            x, pair, weights = block(x, mask, memory, states[i], before, packing, last)
            generated.append(pair)
        self._save(incremental_state, generated)
        x = x if self.norm is None else self.norm(x)
        return x if packing is None else packing.unpack(x), {"attn": [weights]}

    def output_layer(self, features: Tensor, **unused: Any) -> Tensor:
        """B × T × C → B × T × V."""
        return F.linear(features, self.output.weight)

    def max_positions(self) -> int:
        """The longest target, in tokens."""
        return self.limit

    def _embed(self, tokens: Tensor, first: int) -> Tensor:
        """B × T tokens → B × (T − first) × C."""
        x = self.embed_tokens(tokens[:, first:]) * self.embed_tokens.embedding_dim**0.5
        x = x + self.embed_positions(tokens)[:, first:]
        return F.dropout(x, self.dropout, self.training)

    def _mask(self, tokens: Tensor, memory: PBDMemory, first: int) -> Tensor:
        """B × 1 × (T − first) × keys, bool, True where self-attention may look."""
        real = tokens.ne(self.pad)
        mask = causal_mask(real, first)
        if self.future:
            mask = torch.cat([mask, future_mask(real, memory.real, first)], 2)
        return mask.unsqueeze(1)

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
        state = {}
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
