"""Positions and dropout; that blocks are fairseq's: ``systems/test_seq2seq.py``."""

import pytest
import torch
from fairseq.modules import SinusoidalPositionalEmbedding
from test_t5 import randomised
from torch import Tensor

from lev_plugins.nn.embedding import Positions
from lev_plugins.nn.packing import AttentionLayout
from lev_plugins.nn.rotary import rotary_angles
from lev_plugins.nn.transformer import Attention, BlockSize, EncoderOutput, TransformerBlock

pytestmark = [pytest.mark.device, pytest.mark.kernels]

DIM, HEADS = 12, 3
BATCH, LENGTH, SOURCE = 3, 5, 4
PAD = 1
NOTHING_HIDDEN = AttentionLayout(None, None)


def inputs(length: int = LENGTH) -> Tensor:
    return torch.randn(BATCH, length, DIM, dtype=torch.double)


def test_rotary_positions_turn_pairs_of_channels_by_their_place():
    """Su et al. (2021), Eq. 14 and 15: by matrices, sentence by sentence, head by head."""
    attention, x, width = randomised(Attention(DIM, HEADS)), inputs(), DIM // HEADS
    real = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)
    plain = attention.project(x, NOTHING_HIDDEN)
    projected = attention.project(x, AttentionLayout(None, None, rotary_angles(real, width)))
    for b, t in real.nonzero().tolist():
        place = int(real[b, :t].sum())
        angles = [place * 10000 ** (-2 * i / width) for i in range(width // 2)]
        turn = torch.block_diag(*(torch.tensor([[0.0, -a], [a, 0.0]]) for a in angles)).matrix_exp()
        for before, after in zip(plain[:2], projected[:2], strict=True):
            torch.testing.assert_close(
                after[b, :, t], before[b, :, t] @ turn.T.double(), rtol=1e-5, atol=1e-5
            )
    assert torch.equal(plain[2], projected[2])


@pytest.mark.parametrize("where", ["dropout", "self_attention.dropout", "activation_dropout"])
def test_dropout_acts_in_training_only(where):
    size = BlockSize(DIM, HEADS, 16, True, 0.0, 0.0, 0.0, "relu")
    x, block = inputs(), randomised(TransformerBlock(size, cross=True))
    memory = EncoderOutput(inputs(SOURCE), None)
    owner, _, name = where.rpartition(".")
    setattr(block.get_submodule(owner), name, 0.5)
    for training in (False, True):
        block.train(training)
        first, other = (block(x, NOTHING_HIDDEN, memory) for _ in "ab")
        assert torch.equal(first, other) != training


@pytest.mark.parametrize(("dim", "left"), [(8, True), (7, False)])
def test_sinusoidal_positions_are_those_of_fairseq(dim, left):
    tokens = torch.tensor([[4, 5, 6, 7], [4, 5, PAD, PAD], [9, PAD, PAD, PAD]])
    tokens = tokens.flip(1) if left else tokens
    theirs = SinusoidalPositionalEmbedding(dim, PAD, init_size=64)
    assert torch.allclose(Positions(40, dim, PAD)(tokens), theirs(tokens), atol=1e-6)
