"""Positions; that blocks are fairseq's: ``systems/test_seq2seq.py``."""

import pytest
import torch
from fairseq.modules import SinusoidalPositionalEmbedding
from test_t5 import randomised

from lev_plugins.nn.embedding import Positions
from lev_plugins.nn.packing import AttentionLayout
from lev_plugins.nn.rotary import rotary_angles
from lev_plugins.nn.transformer import Attention

pytestmark = [pytest.mark.device, pytest.mark.kernels]

DIM, HEADS = 12, 3
PAD = 1
NOTHING_HIDDEN = AttentionLayout(None, None)


def test_rotary_positions_turn_pairs_of_channels_by_their_place():
    """Su et al. (2021), Eq. 14 and 15: by matrices, sentence by sentence, head by head."""
    attention, x, width = (
        randomised(Attention(DIM, HEADS)),
        torch.randn(3, 5, DIM).double(),
        DIM // HEADS,
    )
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


@pytest.mark.parametrize(("dim", "left"), [(8, True), (7, False)])
def test_sinusoidal_positions_are_those_of_fairseq(dim, left):
    tokens = torch.tensor([[4, 5, 6, 7], [4, 5, PAD, PAD], [9, PAD, PAD, PAD]])
    tokens = tokens.flip(1) if left else tokens
    theirs = SinusoidalPositionalEmbedding(dim, PAD, init_size=64)
    assert torch.allclose(Positions(40, dim, PAD)(tokens), theirs(tokens), atol=1e-6)
