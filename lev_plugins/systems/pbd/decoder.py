"""The decoder: writes from left to right with the rest of the source in sight (paper, §2).

Shapes: B sentences, T target tokens, T' the newest of them, S source tokens, C channels.
"""

import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from ...nn.backbone import Backbone
from ...nn.decoder_block import DecoderBlock, KVCache
from ...nn.packing import AttentionLayout
from ...nn.seq2seq.config import rotary_width
from ...nn.seq2seq.model import TransformerDecoder
from ...nn.transformer import Attention, EncoderOutput, TransformerBlock
from .attention import PseudoBidirectionalAttention, future_mask
from .config import PBDTransformerConfig
from .encoder import PBDEncoderOutput


class PBDDecoderBlock(DecoderBlock):
    """Self-attention with pseudo future, attention to the source, feed-forward.

    Args:
        index: which of the encoder's blocks it copies from.
        block: its self-attention, feed-forward layer and their norms; the encoder's block where
            parameters are shared (§2.2).
    """

    def __init__(self, cfg: PBDTransformerConfig, index: int, block: TransformerBlock) -> None:
        dim = cfg.encoder_embed_dim
        heads = cfg.encoder_attention_heads
        cross = Attention(dim, heads, cfg.attention_dropout, cross=True)
        super().__init__(block, cross, nn.LayerNorm(dim))
        self.index = index
        self.future = not cfg.no_future_modelling
        self.self_attention = PseudoBidirectionalAttention(
            block.self_attention, self.future and not cfg.no_segment_embedding
        )

    def source_layers(self) -> dict[str, nn.Module]:
        copied: dict[str, nn.Module] = {"copied": self.self_attention} if self.future else {}
        return super().source_layers() | copied

    def keys_values(self, encoder_out: EncoderOutput) -> list[KVCache]:
        assert isinstance(encoder_out, PBDEncoderOutput)
        copied = [self._copied(encoder_out)] if self.future else []
        return super().keys_values(encoder_out) + copied

    def self_attend(
        self, x: Tensor, layout: AttentionLayout, encoder_out: EncoderOutput, before: KVCache | None
    ) -> tuple[Tensor, KVCache]:
        """Attends from the newest tokens to all generated ones and to the source that is ahead."""
        assert isinstance(encoder_out, PBDEncoderOutput)
        copied = self._copied(encoder_out) if self.future else None
        return self.self_attention(x, layout, before, copied)

    def _copied(self, encoder_out: PBDEncoderOutput) -> KVCache:
        """Returns keys and values of the copied states, projected once per source."""
        # keyed by this layer: the attention inside is the encoder's too where parameters are shared
        key = self.self_attention
        if key not in encoder_out.cache:
            states = encoder_out.copied[self.index]
            if self.block.pre_norm:
                states = self.block.self_norm(states)
            layout = AttentionLayout(None, encoder_out.packing, encoder_out.rotary_angles)
            encoder_out.cache[key] = self.self_attention.copied(states, layout)
        return encoder_out.cache[key]


class PBDDecoder(TransformerDecoder):
    """A Transformer's decoder whose self-attention sees the source that is ahead."""

    def __init__(self, cfg: PBDTransformerConfig, dictionary: Dictionary, parts: Backbone) -> None:
        super().__init__(dictionary, parts, cfg.max_target_positions, rotary_width(cfg))
        self.future = not cfg.no_future_modelling

    def mask(self, tokens: Tensor, encoder_out: EncoderOutput, first: int) -> Tensor:
        """Makes the mask, B × 1 × T' × keys: generated, then copied tokens (§2.1, Figure 2)."""
        mask = super().mask(tokens, encoder_out, first)
        if not self.future:
            return mask
        assert isinstance(encoder_out, PBDEncoderOutput)
        places = tokens.ne(self.pad).cumsum(1)[:, first:] - 1
        ahead = future_mask(places, encoder_out.real)
        return torch.cat([mask, ahead.unsqueeze(1)], 3)
