"""Packed rows against a loop over positions."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.nn.linear import padded_rows
from lev_plugins.nn.packing import Layout, Packing

LENGTHS = st.lists(st.integers(0, 6), min_size=1, max_size=5)


def made(lengths: list[int], left: bool) -> tuple[Tensor, Tensor]:
    """Which positions are real, and a batch of two channels."""
    place = torch.arange(6)
    ends = torch.tensor(lengths).unsqueeze(1)
    real = place >= 6 - ends if left else place < ends
    return real, torch.randn(len(lengths), 6, 2)


@given(lengths=LENGTHS, left=st.booleans())
def test_what_is_packed_and_unpacked_is_the_batch_with_zeros_at_padding(lengths, left):
    real, x = made(lengths, left)
    packing = Packing(real)
    assert torch.equal(packing.pack(x), x[real])
    assert torch.equal(packing.unpack(x[real]), x * real.unsqueeze(2))
    repeated = packing.unpack_repeating(x[real])
    assert torch.equal(repeated[real], x[real]), "padding is anything"
    assert repeated.shape == x.shape


@given(lengths=LENGTHS, left=st.booleans())
def test_gradients_come_back_from_real_positions_alone(lengths, left):
    real, x = made(lengths, left)
    packing, slope = Packing(real), torch.randn(x.shape)
    for way in (packing.unpack, packing.unpack_repeating):
        rows = x[real].requires_grad_()
        (found,) = torch.autograd.grad(way(rows), rows, slope)
        assert torch.equal(found, slope[real])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_in_decoding_rows_are_filled_up_in_bfloat16_and_come_off_again(dtype):
    real = torch.arange(50) < torch.tensor([[50], [49], [1]])
    x = torch.randn(3, 50, 2).to(dtype)
    packing = Packing.maybe_pack(real[:, None, None])
    assert len(packing.pack(x.clone().requires_grad_())) == 100
    with torch.no_grad():
        rows = packing.pack(x)
    assert len(rows) == (100 if dtype == torch.float32 else padded_rows(100, dtype))
    assert torch.equal(packing.unpack(rows), x * real.unsqueeze(2))
    assert torch.equal(packing.unpack(rows[:100]), packing.unpack(rows))


def test_who_counts_on_as_many_rows_as_are_real_gets_them():
    real = torch.arange(50) < torch.tensor([[50], [41]])
    with torch.no_grad():
        assert len(Packing(real).pack(torch.randn(2, 50, 2).bfloat16())) == 91


def test_a_layout_moves_with_all_it_knows():
    real = torch.arange(50) < torch.tensor([[50], [1]])
    moved = Layout.of(real).to(torch.device("meta"))
    assert {one.device.type for one in (moved.mask, moved.packing.index, moved.packing.source)} == {
        "meta"
    }
