"""A decoder of fairseq's, for its beam search, out of the parts of :mod:`lev_plugins.nn`.

Shapes: B sentences, T target tokens, T' the newest of them, S source tokens, C channels,
H heads, V symbols.
"""

from collections.abc import Sequence
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import FairseqIncrementalDecoder
from torch import Tensor, nn

from ..decoding import KeysValues, causal_mask
from ..embedding import TokenEmbedding
from ..packing import Packing
from ..transformer import Memory, attention_mask

IncrementalState = dict[str, dict[str, Tensor | None]]
EncoderOut = dict[str, list[Any]]
DecoderOut = tuple[Tensor, dict[str, Any]]


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
        norm: nn.Module | None,
        output: nn.Module,
        limit: int,
        bias: nn.Module | None = None,
    ) -> None:
        super().__init__(dictionary)
        self.pad, self.limit = dictionary.pad(), limit
        self.embed, self.norm, self.output, self.bias = embed, norm, output, bias
        self.blocks = nn.ModuleList(blocks)

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: EncoderOut | None = None,
        incremental_state: IncrementalState | None = None,
        features_only: bool = False,
        **unused: object,
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
        encoder_out: EncoderOut | None = None,
        incremental_state: IncrementalState | None = None,
        **unused: object,
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
            packing = Packing.maybe_pack(attention_mask(prev_output_tokens.ne(self.pad)))
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

    def branch(
        self,
        tokens: Tensor,
        place: int,
        seen: Tensor,
        encoder_out: EncoderOut,
        before: Sequence[KeysValues],
    ) -> tuple[Tensor, list[KeysValues]]:
        """Reads the newest tokens of prefixes that share beginnings, in evaluation.

        Args:
            tokens: B × W, several prefixes of each source. place: tokens before each.
            seen: B × W × (N + W), bool: of the tokens before and of these, what each prefix has.
            before: what was returned for the N tokens before; nothing at first.

        Returns:
            B × W × C; and of every block keys and values, those of these tokens last.
        """
        (memory,) = encoder_out["memory"]
        x, mask = self.embed.branches(tokens, place), self.branched(seen, place, memory)
        generated = []
        for i, block in enumerate(self.blocks):
            x, pair, _ = block(x, mask, memory, before[i] if before else None)
            generated.append(pair)
        return x if self.norm is None else self.norm(x), generated

    def branched(self, seen: Tensor, place: int, memory: Memory) -> Tensor:
        """:meth:`mask` of :meth:`branch`: B × 1 × W × keys."""
        return seen.unsqueeze(1)

    def output_layer(self, features: Tensor, **unused: object) -> Tensor:
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

    def _saved(self, incremental_state: IncrementalState | None) -> list[KeysValues]:
        """Keys and values of each block, for all tokens decoded so far; empty at the start."""
        state = None
        if incremental_state is not None:
            state = self.get_incremental_state(incremental_state, "generated")
        if not state:
            return []
        return [(state[f"key{i}"], state[f"value{i}"]) for i in range(len(self.blocks))]

    def _save(
        self, incremental_state: IncrementalState | None, generated: list[KeysValues]
    ) -> None:
        if incremental_state is None:
            return
        state: dict[str, Tensor | None] = {}
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
