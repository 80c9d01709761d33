"""Decoders that read several new tokens of each sentence at once, and forget those that were wrong.

A sentence's tokens stand in any columns, in their order. Padding between them has no place and is
seen by no other token, so the sentences of a batch may grow by different numbers of tokens: what
is kept of a wrong one is cut off, or left behind as padding until there is much of it.

Shapes: B sentences, N columns, T' the newest of them, H heads, D = C / H, C channels, V symbols.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from fairseq.models.transformer import TransformerDecoderBase
from numpy.typing import NDArray
from torch import Tensor, nn

from .model import DecoderOut, EncoderOut, IncrementalState, TransformerDecoder

Counts = NDArray[np.int64]
#: columns for each token of the longest sentence from which on padding is taken out
MAX_COLUMNS_PER_TOKEN = 1.25


class BlockReader:
    """A :class:`.TransformerDecoder`, and what it has read of B sentences.

    Args:
        model: encoder and decoder, in evaluation.
        encoder_out: the encoder's, of these sentences.
        size: B.
    """

    #: where padding goes that is taken out from between the tokens
    pads_left = True

    def __init__(self, model: Any, encoder_out: EncoderOut, size: int) -> None:
        self.encoder, self.decoder = model.encoder, model.decoder
        self.encoder_out = encoder_out
        self.pad = model.decoder.dictionary.pad()
        self.state: IncrementalState = {}
        self.lengths = np.zeros(size, dtype=np.int64)
        self.tokens: Tensor | None = None  # B × N

    def read(self, block: Tensor) -> DecoderOut:
        """Decodes new tokens, B × T', padded on the right; returns logits, B × T' × V, and extras.

        The first column has no padding. :meth:`keep` has to follow.
        """
        before = self.tokens
        self.tokens = block if before is None else torch.cat([before, block], 1)
        return self._decode(block.size(1))

    def keep(self, counts: Counts, newest: int) -> None:
        """Forgets all but the first ``counts`` tokens, 1 or more, of each row of the block that was
        read last, of ``newest`` columns."""
        assert self.tokens is not None, "there is nothing yet"
        most = int(counts.max())
        width = self.tokens.size(1) - newest + most
        self.tokens = self.tokens[:, :width]
        if most < newest:
            self._change(lambda kept: kept[:, :, :width])
        if (counts < most).any():
            device = self.tokens.device
            kept = torch.from_numpy(counts).to(device)
            wrong = torch.arange(most, device=device) >= kept[:, None]
            block = self.tokens[:, -most:].masked_fill(wrong, self.pad)
            self.tokens = torch.cat([self.tokens[:, :-most], block], 1)
        self.lengths = self.lengths + counts
        self._take_out_padding()

    def select(self, rows: Tensor) -> None:
        """Goes on with the sentences at ``rows`` (long indices) alone."""
        assert self.tokens is not None, "there is nothing yet"
        self.decoder.reorder_incremental_state_scripting(self.state, rows)
        self.encoder_out = self.encoder.reorder_encoder_out(self.encoder_out, rows)
        self.tokens = self.tokens[rows]
        self.lengths = self.lengths[rows.cpu().numpy()]
        self._take_out_padding()

    def _take_out_padding(self) -> None:
        """Moves the tokens of each sentence together, where much is between them."""
        assert self.tokens is not None, "there is nothing yet"
        longest = int(self.lengths.max())
        width = self.tokens.size(1)
        loose = self._needs_columns() and int(self.lengths.min()) < width
        if width <= longest * MAX_COLUMNS_PER_TOKEN and not loose:
            return
        real = self.tokens.ne(self.pad)
        order = (real if self.pads_left else ~real).byte().argsort(dim=1, stable=True)
        order = order[:, -longest:] if self.pads_left else order[:, :longest]
        self.tokens = self.tokens.gather(1, order)

        def gather_columns(kept: Tensor) -> Tensor:
            _, heads, _, channels = kept.shape
            index = order[:, None, :, None].expand(-1, heads, -1, channels)
            return kept.gather(2, index)

        self._change(gather_columns)

    def _needs_columns(self) -> bool:
        """Returns whether positions are columns (T5): then all sentences end in one."""
        return self.decoder.bias is not None

    def _decode(self, newest: int) -> DecoderOut:
        return self.decoder(self.tokens, self.encoder_out, self.state)

    def _change(self, function: Callable[[Tensor], Tensor]) -> None:
        """Puts ``function`` of them, B × H × N × D, in place of all keys and values."""
        held = self.decoder.get_incremental_state(self.state, "generated")
        changed = [(function(key), function(value)) for key, value in held["blocks"]]
        self.decoder.set_incremental_state(self.state, "generated", {"blocks": changed})


class StockBlockReader(BlockReader):
    """The same of fairseq's own Transformer, whose decoder takes one new token at a time."""

    pads_left = False  # what is padding sees a token before it: its softmax is not empty

    def _needs_columns(self) -> bool:
        return False

    def _decode(self, newest: int) -> DecoderOut:
        """Runs fairseq's ``extract_features`` and output layer for the last ``newest`` columns."""
        decoder = self.decoder
        tokens = self.tokens
        assert tokens is not None, "there is nothing yet"
        first = tokens.size(1) - newest
        x = self._embedded(tokens, first).transpose(0, 1)
        future = None
        if newest > 1:
            future = x.new_full((newest, tokens.size(1)), float("-inf")).triu(first + 1)
        # one sentence has padding only where others went before it
        has_padding = len(tokens) > 1 or self.lengths[0] < first
        padding = tokens.eq(self.pad) if has_padding else None
        source = self.encoder_out["encoder_out"][0]
        masks = self.encoder_out["encoder_padding_mask"]
        source_padding = masks[0] if masks else None
        for layer in decoder.layers:
            self._buffer(layer).pop("prev_key_padding_mask", None)  # all of it is given
            x, *_ = layer(
                x,
                source,
                source_padding,
                self.state,
                self_attn_mask=future,
                self_attn_padding_mask=padding,
            )
        x = x if decoder.layer_norm is None else decoder.layer_norm(x)
        x = x.transpose(0, 1)
        x = x if decoder.project_out_dim is None else decoder.project_out_dim(x)
        return decoder.output_layer(x), {"attn": [None]}

    def _embedded(self, tokens: Tensor, first: int) -> Tensor:
        """Embeds the columns from ``first`` on, B × T' × C."""
        decoder = self.decoder
        x = decoder.embed_scale * decoder.embed_tokens(tokens[:, first:])
        x = x if decoder.project_in_dim is None else decoder.project_in_dim(x)
        if decoder.embed_positions is not None:
            x = x + decoder.embed_positions(tokens)[:, first:]
        return x if decoder.layernorm_embedding is None else decoder.layernorm_embedding(x)

    def _buffer(self, layer: Any) -> dict[str, Any]:
        """Returns the keys and values that a layer's self-attention keeps."""
        return layer.self_attn._get_input_buffer(self.state)

    def _change(self, function: Callable[[Tensor], Tensor]) -> None:
        for layer in self.decoder.layers:
            kept = self._buffer(layer)
            for name in ("prev_key", "prev_value"):
                kept[name] = function(kept[name])
            layer.self_attn._set_input_buffer(self.state, kept)


def reader_of(model: nn.Module) -> type[BlockReader] | None:
    """Returns the reader for a model's decoder; None if it cannot read several tokens at once."""
    decoder = getattr(model, "decoder", None)
    if isinstance(decoder, TransformerDecoder):
        return BlockReader
    if not isinstance(decoder, TransformerDecoderBase) or decoder.cross_self_attention:
        return None
    for name in ("forward", "extract_features", "extract_features_scriptable", "output_layer"):
        if getattr(type(decoder), name) is not getattr(TransformerDecoderBase, name):
            return None
    return StockBlockReader
