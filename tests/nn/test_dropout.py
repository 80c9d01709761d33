"""Dropout by 16 random bits an element; gradients and seeds: attention's (test_cpu.py)."""

import pytest
import torch

from lev_plugins.nn.backends.cpu import dropout

pytestmark = [pytest.mark.device, pytest.mark.kernels]
MANY = 400_000


@pytest.mark.parametrize("p", [0.01, 0.3, 0.9])
def test_the_share_that_goes_is_p_each_by_itself_and_the_mean_stays(p):
    torch.manual_seed(1)
    out = dropout(torch.ones(MANY), p, True)
    gone = out.eq(0).double() - p
    spread = 4 * (p * (1 - p) / MANY) ** 0.5
    assert abs(float(gone.mean())) < spread
    assert abs(float(out.double().mean()) - 1) < spread / (1 - p)
    for apart in (1, 4, 624):
        together = float((gone[apart:] * gone[:-apart]).mean()) / (p * (1 - p))
        assert abs(together) < 4 * MANY**-0.5, apart


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_any_shape_and_kind_of_number_comes_back_as_it_was(dtype):
    for shape in ((), (0,), (2, 0, 4), (5, 3)):
        x = torch.ones(shape, dtype=dtype)
        out = dropout(x, 0.5, True)
        assert out.shape == x.shape and out.dtype == dtype
    assert set(out.flatten().tolist()) <= {0, 2}
    assert dropout(x, 0.5, False) is x and dropout(x, 0.0, True) is x
    assert dropout(x, 1.0, True).eq(0).all(), "left to torch"
