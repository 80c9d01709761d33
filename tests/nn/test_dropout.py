"""Dropout by 16 random bits an element."""

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck

from lev_plugins.nn.dropout import LEVELS, dropout

MANY = 400_000


@pytest.mark.parametrize("p", [0.01, 0.1, 0.3, 0.5, 0.9])
def test_the_share_that_goes_is_p_and_the_mean_stays(p):
    torch.manual_seed(1)
    out = dropout(torch.ones(MANY), p, True)
    spread = 4 * (p * (1 - p) / MANY) ** 0.5
    assert abs(float((out == 0).double().mean()) - p) < spread
    assert abs(float(out.double().mean()) - 1) < spread / (1 - p)


def test_elements_go_each_by_itself():
    torch.manual_seed(2)
    gone = dropout(torch.ones(MANY), 0.3, True).eq(0).double() - 0.3
    for apart in (1, 2, 3, 4, 8, 624, 2496):
        together = float((gone[apart:] * gone[:-apart]).mean()) / 0.21
        assert abs(together) < 4 * MANY**-0.5, apart


def test_gradients_go_where_values_went():
    torch.manual_seed(3)
    x = torch.randn(5, 7, 3, dtype=torch.float64, requires_grad=True)

    def once(one: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(4)
        return dropout(one, 0.4, True)

    assert gradcheck(once, x)
    assert torch.equal(once(x).eq(0), torch.autograd.grad(once(x).sum(), x)[0].eq(0))


def test_a_seed_gives_the_same_elements_again_and_the_next_call_others():
    torch.manual_seed(5)
    x = torch.randn(100)
    first, second = dropout(x, 0.5, True), dropout(x, 0.5, True)
    torch.manual_seed(5)
    torch.randn(100)
    assert torch.equal(dropout(x, 0.5, True), first) and not torch.equal(first, second)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (5, 3)])
def test_any_shape_and_kind_of_number_comes_back_as_it_was(shape, dtype):
    x = torch.ones(shape, dtype=dtype)
    out = dropout(x, 0.5, True)
    assert out.shape == x.shape and out.dtype == dtype
    assert bool(((out == 0) | (out == 2)).all())


def test_without_training_or_without_p_the_tensor_itself_comes_back():
    x, state = torch.randn(4), torch.random.get_rng_state()
    assert dropout(x, 0.5, False) is x and dropout(x, 0.0, True) is x
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("p", [1.0, 0.2 / LEVELS, 1 - 0.2 / LEVELS])
def test_shares_too_near_nothing_or_all_are_left_to_torch(p):
    x = torch.ones(1000)
    torch.manual_seed(6)
    found = dropout(x, p, True)
    torch.manual_seed(6)
    assert torch.equal(found, F.dropout(x, p, True))


@pytest.mark.parametrize("level", [1, LEVELS - 1])
def test_the_smallest_and_the_largest_share_are_sampled_here(level):
    out = dropout(torch.ones(8, requires_grad=True), level / LEVELS, True)
    assert out.grad_fn is not None and out.grad_fn.name() == "_DropoutBackward"


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8])
def test_four_elements_take_one_draw_of_64_bits(count):
    torch.manual_seed(7)
    dropout(torch.ones(count), 0.5, True)
    next_here = torch.rand(3)
    torch.manual_seed(7)
    torch.empty((count - 1) // 4 + 1, dtype=torch.int64).random_(-(2**63), None)
    assert torch.equal(next_here, torch.rand(3))
