"""The encoder: a backbone's, with what looks wrong hidden from the decoder (paper, Eq. 1-2).

Shapes: B sentences, S source tokens, C channels.
"""

from dataclasses import dataclass

import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from ...nn.embedding import TokenEmbedding
from ...nn.seq2seq.model import EncoderOut, TransformerEncoder
from ...nn.transformer import EncoderOutput
from .gates import MaskGate, following


@dataclass
class GatedEncoderOutput(EncoderOutput):
    """The encoder's output, as the decoder reads it.

    tokens: B × S. following: the token after each, B × S. masked: u of Eq. 1, B × S, None without
    the gate.
    """

    tokens: Tensor | None = None
    following: Tensor | None = None
    masked: Tensor | None = None


class GatedEncoder(TransformerEncoder):
    """Embeds the source, and runs it through the backbone and the mask gate.

    body: the backbone, embedded tokens → states.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        embed: TokenEmbedding,
        body: nn.Module,
        gate: MaskGate | None,
        limit: int,
    ) -> None:
        super().__init__(dictionary, embed, limit)
        self.body = body
        self.mask_gate = gate

    def forward(
        self, src_tokens: Tensor, src_lengths: Tensor | None = None, **unused: object
    ) -> EncoderOut:
        """Encodes B × S tokens, padded on either side, to a :class:`GatedEncoderOutput`."""
        real = src_tokens.ne(self.pad)
        states = self.body(self.embed(src_tokens), real)
        masked = None
        if self.mask_gate is not None:
            states, masked = self.mask_gate(states)
        encoder_out = GatedEncoderOutput(
            states=states,
            mask=real[:, None, None],
            rows=torch.arange(len(src_tokens), device=src_tokens.device),
            tokens=src_tokens,
            following=following(src_tokens, self.pad),
            masked=masked,
        )
        return {"encoder_out": [encoder_out]}
