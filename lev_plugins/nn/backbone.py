"""The parts of an encoder-decoder, whatever they were made or loaded from.

Shapes: B sentences, S source tokens, C channels.
"""

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from .decoder_block import DecoderBlock, TiedOutput
from .embedding import Positions, TokenEmbedding, token_table
from .kernels import TORCH, Kernels
from .packing import AttentionLayout
from .transformer import Attention, BlockSize, TransformerBlock, TransformerStack


class EncoderBody(nn.Module):
    """Blocks of a Transformer, and the norm after the last, None for post-norm."""

    kernels: Kernels = TORCH

    def __init__(self, stack: TransformerStack, norm: nn.Module | None) -> None:
        super().__init__()
        self.stack = stack
        self.norm = norm

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """Encodes B × S × C embedded tokens: B × S × C; ``real``: B × S, bool, False at padding."""
        x = self.stack(x, AttentionLayout(real[:, None, None], self.kernels.packing(real)))
        return x if self.norm is None else self.norm(x)


@dataclass
class Backbone:
    """An encoder-decoder in parts.

    source, target: embeddings of either side. encoder: called as :class:`EncoderBody` is.
    blocks: of the decoder, called as :class:`DecoderBlock` is. norm: after them, or None.
    output: features → logits. bias: makes the mask of the decoder's self-attention, B × T' × keys,
    into one with a bias for each head (T5). mask: row of the source's table that stands for a
    masked token. max_source, max_target: most tokens, None where any number will do. new: the
    modules that were randomly initialised, not loaded.
    """

    source: TokenEmbedding
    encoder: Any
    target: TokenEmbedding
    blocks: list[Any]
    norm: nn.Module | None
    output: Any
    bias: Any = None
    mask: int | None = None
    max_source: int | None = None
    max_target: int | None = None
    new: list[nn.Module] = field(default_factory=list)


@dataclass
class TransformerSize(BlockSize):
    """A Transformer's numbers."""

    encoder_layers: int
    decoder_layers: int
    learned_positions: bool
    max_source: int
    max_target: int

    def final_norm(self) -> nn.LayerNorm | None:
        """Returns the norm after the last block, which pre-norm alone has."""
        return nn.LayerNorm(self.dim, eps=self.eps) if self.pre_norm else None

    def decoder_block(self) -> DecoderBlock:
        """Makes a block that reads the source."""
        cross = Attention(self.dim, self.heads, self.attention_dropout, cross=True)
        return DecoderBlock(TransformerBlock(self), cross, nn.LayerNorm(self.dim, eps=self.eps))


def transformer(
    size: TransformerSize,
    source_symbols: int,
    target_symbols: int,
    pad: int,
    share_all: bool = False,
    share_output: bool = False,
) -> Backbone:
    """Makes a Transformer as Vaswani et al. (2017) and fairseq do, randomly initialised.

    Args:
        source_symbols, target_symbols: sizes of the vocabularies; ``pad`` is in both.
        share_all: one table for source, target and output; ``share_output``: for the last two.
    """
    dim = size.dim
    learned = size.learned_positions
    source = token_table(source_symbols, dim, pad)
    target = source if share_all else token_table(target_symbols, dim, pad)
    stack = TransformerStack(TransformerBlock(size) for _ in range(size.encoder_layers))
    source_positions = Positions(size.max_source, dim, pad, learned)
    target_positions = Positions(size.max_target, dim, pad, learned)
    source_embedding = TokenEmbedding(source, source_positions, dropout=size.dropout)
    encoder = EncoderBody(stack, size.final_norm())
    target_embedding = TokenEmbedding(target, target_positions, dropout=size.dropout)
    blocks: list[nn.Module] = [size.decoder_block() for _ in range(size.decoder_layers)]
    norm = size.final_norm()
    tied = share_all or share_output
    output = TiedOutput(target if tied else token_table(target_symbols, dim))
    return Backbone(
        source=source_embedding,
        encoder=encoder,
        target=target_embedding,
        blocks=blocks,
        norm=norm,
        output=output,
        max_source=size.max_source,
        max_target=size.max_target,
    )
