"""A side's blocks, as they are before training."""

from ...nn.seq2seq.config import block_size
from ...nn.transformer import TransformerBlock, TransformerStack
from .config import LevenshteinEditorConfig


def blocks_of(cfg: LevenshteinEditorConfig, side: str, depth: int) -> TransformerStack:
    """``depth`` blocks of a side, encoder or decoder."""
    size, cross = block_size(cfg, side), side == "decoder"
    blocks = [TransformerBlock(size, cross) for _ in range(depth)]
    for block in blocks:  # as in fairseq's LevT, which learns sooner than with Xavier's
        block.fc1.reset_parameters()
        block.fc2.reset_parameters()
    return TransformerStack(blocks)
