"""Encoder-decoders that write from left to right, on fairseq's interfaces, for its beam search.

Shapes: B sentences, S source tokens, T target tokens, T' the newest of them, C channels, H heads,
V symbols.
"""

from collections.abc import Sequence
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.dataclass.configs import FairseqConfig
from fairseq.models import FairseqEncoder, FairseqEncoderDecoderModel, FairseqIncrementalDecoder
from torch import Tensor, nn

from lev_runtime.errors import UserError

from ...fairseq_patches.decoding_options import OWN_BEAM_SEARCH, require_read
from ..backbone import Backbone
from ..backends import FollowsDevice
from ..decoder_block import KVCache, causal_mask
from ..embedding import TokenEmbedding
from ..kernels import TORCH, Kernels
from ..packing import AttentionLayout
from ..precision import decoding_precision, prepare_for_decoding
from ..rotary import rotary_angles
from ..transformer import EncoderOutput, rows_of

IncrementalState = dict[str, dict[str, Any]]
EncoderOut = dict[str, list[Any]]
DecoderOut = tuple[Tensor, dict[str, Any]]


class TransformerEncoder(FairseqEncoder):
    """Embeds the source; a subclass runs it through its blocks.

    Its ``forward`` takes B × S tokens, padded on either side, and returns ``{"encoder_out":
    [EncoderOutput]}``, with ``rows``. ``limit``: the longest source, in tokens.
    """

    kernels: Kernels = TORCH

    def __init__(self, dictionary: Dictionary, embed: TokenEmbedding, limit: int) -> None:
        super().__init__(dictionary)
        self.pad = dictionary.pad()
        self.limit = limit
        self.embed = embed

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        """Returns the output for the rows ``new_order``; what was projected stays projected."""
        return {"encoder_out": [out.select(new_order) for out in encoder_out["encoder_out"]]}

    def max_positions(self) -> int:
        return self.limit


class TransformerDecoder(FairseqIncrementalDecoder):
    """Embeds what was generated, runs it through the blocks, and says what comes next.

    ``parts``: of the decoder's side. ``limit``: the longest target, in tokens. ``rotary``: D of
    rotary positions, None without.
    """

    kernels: Kernels = TORCH
    future = False  #: whether it reads the source ahead, as PBD's

    def __init__(
        self, dictionary: Dictionary, parts: Backbone, limit: int, rotary: int | None = None
    ) -> None:
        super().__init__(dictionary)
        self.pad = dictionary.pad()
        self.limit = limit
        self.rotary = rotary
        self.embed = parts.target
        self.norm = parts.norm
        self.output = parts.output
        self.bias = parts.bias
        self.blocks = nn.ModuleList(parts.blocks)

    def forward(self, *inputs: Any, **options: Any) -> DecoderOut:
        """Logits of the next token, B × T' × V: :meth:`extract_features`, projected."""
        x, extra = self.extract_features(*inputs, **options)
        return self.output_layer(x), extra

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: EncoderOut | None = None,
        incremental_state: IncrementalState | None = None,
        **unused: object,
    ) -> DecoderOut:
        """Returns the states of the newest tokens before they are projected.

        Args:
            prev_output_tokens: B × T, </s> and what was generated, padded on either side.
            encoder_out: the encoder's, ``{"encoder_out": [EncoderOutput]}``.
            incremental_state: when given, only tokens that it does not hold are computed.

        Returns:
            B × T' × C; and ``attn``, in evaluation: how much each looked at each source token in
            the last block, B × T' × S.
        """
        assert encoder_out is not None, "it reads a source"
        (output,) = encoder_out["encoder_out"]
        saved = self._saved(incremental_state)
        first = saved[0][0].size(2) if saved else 0
        x = self.embed(prev_output_tokens, first)
        real = prev_output_tokens.ne(self.pad)
        packing = self.kernels.packing(real) if self.training else None
        angles = rotary_angles(real, self.rotary, first)
        layout = AttentionLayout(self.mask(prev_output_tokens, output, first), packing, angles)
        x = layout.pack(x)
        x, generated, weights = self.read(x, layout, output, saved, self.needs_weights())
        self.set_incremental_state(incremental_state, "generated", {"blocks": generated})
        return layout.unpack(x), {"attn": [weights]}

    def read(
        self,
        x: Tensor,
        layout: AttentionLayout,
        encoder_out: EncoderOutput,
        saved: Sequence[KVCache],
        needs_weights: bool,
    ) -> tuple[Tensor, list[KVCache], Tensor | None]:
        """Runs embedded tokens, B × T' × C or packed, through all blocks.

        Args:
            saved: keys and values of each block, of the tokens before; empty where there are none.

        Returns:
            what ``x`` is shaped like; keys and values of all tokens; with ``needs_weights`` the
            attention of the last block, B × T' × S.
        """
        generated = []
        weights = None
        last = len(self.blocks) - 1
        for number, block in enumerate(self.blocks):
            before = saved[number] if saved else None
            need_weights = number == last and needs_weights
            x, keys_values, weights = block(x, layout, encoder_out, before, need_weights)
            generated.append(keys_values)
        x = x if self.norm is None else self.norm(x)
        return x, generated, weights

    def output_layer(self, features: Tensor, **unused: object) -> Tensor:
        """Returns logits, B × T' × V, of B × T' × C features."""
        return self.output(features)

    def needs_weights(self) -> bool:
        """Returns whether the last block gives its attention, fairseq's alignment."""
        return not self.training

    def mask(self, tokens: Tensor, encoder_out: EncoderOutput, first: int) -> Tensor:
        """Makes the mask of self-attention, B × (1 or H) × T' × keys: bool or a bias."""
        seen = causal_mask(tokens.ne(self.pad), first)
        return seen.unsqueeze(1) if self.bias is None else self.bias(seen)

    def max_positions(self) -> int:
        return self.limit

    def _saved(self, incremental_state: IncrementalState | None) -> list[KVCache]:
        """Keys and values of each block, of all tokens decoded so far; empty at first."""
        state = self.get_incremental_state(incremental_state, "generated")
        return state["blocks"] if state else []

    def reorder_incremental_state(
        self, incremental_state: IncrementalState, new_order: Tensor
    ) -> None:
        """Rows of the state in the order of the beams."""
        blocks = rows_of(self._saved(incremental_state), new_order)
        self.set_incremental_state(incremental_state, "generated", {"blocks": blocks})


class Seq2SeqModel(FollowsDevice, FairseqEncoderDecoderModel):
    """An encoder and a :class:`TransformerDecoder`.

    Both have their token embeddings at ``embed``, a :class:`TokenEmbedding`.
    """

    def prepare_for_inference_(self, cfg: FairseqConfig) -> None:
        """Prepares for decoding; fairseq calls it. Dropout cannot be kept (UserError)."""
        require_read(cfg.generation, OWN_BEAM_SEARCH)
        super().prepare_for_inference_(cfg)
        prepare_for_decoding([self], decoding_precision(cfg))

    def _shared(self) -> list[list[str]]:
        """Returns the names of each parameter that has several."""
        names: dict[int, list[str]] = {}
        for name, parameter in self.named_parameters(remove_duplicate=False):
            names.setdefault(id(parameter), []).append(name)
        return [group for group in names.values() if len(group) > 1]

    def state_dict(self, *args: object, prefix: str = "", **options: object) -> dict[str, Tensor]:
        """Every parameter once, under the first of its names.

        fairseq copies each entry to the CPU and to fp32, and lev-average makes each again: a
        checkpoint would hold what is shared several times over.
        """
        state = super().state_dict(*args, prefix=prefix, **options)
        for _, *others in self._shared():
            for name in others:
                del state[prefix + name]
        return state

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """Gives shared parameters all their names.

        Raises:
            UserError: the checkpoint has two values for what is shared here.
        """
        for names in self._shared():
            values = [state_dict[alias] for alias in names if alias in state_dict]
            if any(not torch.equal(values[0], other) for other in values[1:]):
                raise UserError(
                    f"the checkpoint has several values for {names[0]}, which this model "
                    "shares; give the sharing options of its training "
                    "(--no-parameter-sharing, or without --share-all-embeddings)"
                )
            if values:
                state_dict.update(dict.fromkeys(names, values[0]))
        super().upgrade_state_dict_named(state_dict, name)
