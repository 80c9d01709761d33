"""Rotary positions; that blocks and sinusoids are fairseq's: ``systems/test_seq2seq.py``."""

import pytest
import torch
from closeness import assert_near
from test_t5 import randomised

from lev_plugins.nn.packing import AttentionLayout
from lev_plugins.nn.rotary import rotary_angles
from lev_plugins.nn.transformer import Attention

pytestmark = [pytest.mark.device, pytest.mark.kernels]

DIM, HEADS, WIDTH = 12, 3, 4


QUARTER = torch.tensor([[0.0, -1.0], [1.0, 0.0]])


def test_rotary_positions_turn_pairs_of_channels_by_their_place():
    """Su et al. (2021), Eq. 14 and 15: by matrices, sentence by sentence, head by head."""
    attention, x = randomised(Attention(DIM, HEADS)), torch.randn(3, 5, DIM).double()
    real = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
    rotary = rotary_angles(real, WIDTH)
    plain, projected = (
        attention.project(x, AttentionLayout(None, None, angles)) for angles in (None, rotary)
    )
    rates = 10000.0 ** -(torch.arange(0, WIDTH, 2) / WIDTH)
    for b, t in real.nonzero().tolist():
        angles = real[b, :t].sum() * rates
        turn = torch.block_diag(*(angle * QUARTER for angle in angles)).matrix_exp().double()
        for before, after in zip(plain[:2], projected[:2], strict=True):
            assert_near(after[b, :, t], before[b, :, t] @ turn.T)
    assert torch.equal(plain[2], projected[2])
