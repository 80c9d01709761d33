"""Packed rows against a loop over positions."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.nn.backends.cpu import CPUKernels
from lev_plugins.nn.packing import Unpadding


@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(any))
def test_what_is_packed_comes_back_and_its_gradients(lengths):
    real = torch.arange(6) < torch.tensor(lengths).unsqueeze(1)
    x = torch.randn(len(lengths), 6, 2)
    # at padding, which nobody looks at, there is none
    packing, slope = Unpadding(real), torch.randn(x.shape) * real.unsqueeze(2)
    assert torch.equal(packing.pack(x), x[real])
    rows = x[real].requires_grad_()
    unpacked = packing.unpack(rows)
    assert unpacked.shape == x.shape and torch.equal(unpacked[real], x[real])
    (back,) = torch.autograd.grad(unpacked, rows, slope)
    assert torch.equal(back, slope[real])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_are_filled_up_in_bfloat16_and_come_off_again(dtype):
    real = torch.arange(50) < torch.tensor([[50], [49], [2]])
    x = torch.randn(3, 50, 2).to(dtype)
    packing = CPUKernels().packing(real)
    assert len(Unpadding(real).pack(x)) == 101, "who counts on as many rows gets them"
    rows = packing.pack(x)
    assert len(rows) == (104 if dtype == torch.bfloat16 else 101)
    unpacked = packing.unpack(2 * rows)
    assert torch.equal(unpacked[real], 2 * x[real])
