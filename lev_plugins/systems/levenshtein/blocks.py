"""A side's blocks, as they are before training."""

from collections.abc import Iterable

from torch import nn

from ...nn.seq2seq.config import block_size
from ...nn.transformer import TransformerBlock, TransformerStack
from .config import LevenshteinEditorConfig


def blocks_of(cfg: LevenshteinEditorConfig, side: str, depth: int) -> TransformerStack:
    """``depth`` blocks of a side, encoder or decoder."""
    size = block_size(cfg, side)
    cross = side == "decoder"
    blocks = [TransformerBlock(size, cross) for _ in range(depth)]
    for block in blocks:  # as in fairseq's LevT, which learns sooner than with Xavier's
        block.fc1.reset_parameters()
        block.fc2.reset_parameters()
    return TransformerStack(blocks)


def bert_init(modules: Iterable[nn.Module]) -> None:
    """Weights from N(0, 0.02), biases 0; norms stay as they are."""
    for module in modules:
        for name, parameter in module.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
