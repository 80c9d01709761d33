"""The encoder: a Transformer's, which also leaves the states of every block (paper, §2.1).

Shapes: B sentences, S source tokens, C channels, N real tokens of a packed batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from ...nn.backbone import TransformerSize
from ...nn.embedding import TokenEmbedding
from ...nn.packing import AttentionLayout, Unpadding
from ...nn.rotary import rotary_angles
from ...nn.seq2seq.config import rotary_width
from ...nn.seq2seq.model import EncoderOut, TransformerEncoder
from ...nn.transformer import EncoderOutput, TransformerBlock
from .config import PBDTransformerConfig


@dataclass
class PBDEncoderOutput(EncoderOutput):
    """The encoder's output, as the decoder reads it.

    copied: for each block the states that the decoder's block sees as its future, B × S × C, or
    packed in training, N × C. packing: where those are. rotary_angles: of their positions. real:
    B × S, bool.
    """

    copied: list[Tensor] = field(default_factory=list)
    packing: Unpadding | None = None
    rotary_angles: Tensor | None = None
    real: Tensor = field(default_factory=lambda: torch.empty(0))


class PBDEncoder(TransformerEncoder):
    """Embeds the source and runs it through blocks of a size."""

    def __init__(
        self,
        cfg: PBDTransformerConfig,
        size: TransformerSize,
        dictionary: Dictionary,
        embed: TokenEmbedding,
    ) -> None:
        super().__init__(dictionary, embed, cfg.max_source_positions)
        self.copies_output = str(cfg.copied_states) == "output"
        blocks = [TransformerBlock(size) for _ in range(size.encoder_layers)]
        self.blocks: Sequence[Any] = nn.ModuleList(blocks)  # type: ignore[assignment]
        self.norm = size.final_norm()
        self.rotary = rotary_width(cfg)

    def forward(
        self, src_tokens: Tensor, src_lengths: Tensor | None = None, **unused: object
    ) -> EncoderOut:
        """Encodes B × S tokens, padded on either side, to a :class:`PBDEncoderOutput`."""
        real = src_tokens.ne(self.pad)
        mask = real[:, None, None]
        x = self.embed(src_tokens)
        packing = self.kernels.packing(real) if self.training else None
        angles = rotary_angles(real, self.rotary)
        layout = AttentionLayout(mask, packing, angles)
        states = [layout.pack(x)]
        for block in self.blocks:
            states.append(block(states[-1], layout))
        x = states[-1] if self.norm is None else self.norm(states[-1])
        encoder_out = PBDEncoderOutput(
            states=layout.unpack(x),
            mask=mask,
            copied=states[1:] if self.copies_output else states[:-1],
            packing=packing,
            rotary_angles=angles,
            real=real,
            rows=torch.arange(len(src_tokens), device=src_tokens.device),
        )
        return {"encoder_out": [encoder_out]}
