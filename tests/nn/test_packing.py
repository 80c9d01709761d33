"""Packed rows in bfloat16, which are filled up. That they come back: the contract of models."""

import pytest
import torch

from lev_plugins.nn.backends.cpu import CPUKernels
from lev_plugins.nn.packing import Unpadding


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
