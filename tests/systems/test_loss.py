"""LevT's cross-entropy against torch's."""

import pytest
import torch
import torch.nn.functional as F

from lev_plugins.nn import blocks
from lev_plugins.systems.levenshtein.criterion import smoothed

pytestmark = pytest.mark.kernels


@pytest.fixture(params=[6, 10**6], ids=["two rows at a time", "all rows at once"])
def at_once(request, monkeypatch):
    monkeypatch.setattr(blocks, "AT_ONCE", request.param)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_loss_likelihood_hits_and_gradient_are_torchs(at_once, dtype, rows, smoothing):
    torch.manual_seed(rows)
    logits = (3 * torch.randn(rows, 3)).to(dtype).requires_grad_()
    labels = torch.randint(3, (rows,))
    exact = logits.detach().double().requires_grad_()
    wanted = F.cross_entropy(exact, labels, reduction="sum", label_smoothing=smoothing)
    loss, nll, right = smoothed(logits, labels, smoothing)
    (slope,) = torch.autograd.grad(7 * loss, logits)
    close = {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(loss.double(), wanted, **close)
    torch.testing.assert_close(
        nll.double(), F.cross_entropy(exact, labels, reduction="sum").detach(), **close
    )
    assert int(right) == int((logits.argmax(1) == labels).sum())
    assert slope.dtype == dtype and not nll.requires_grad
    (expected,) = torch.autograd.grad(7 * wanted, exact)
    step = torch.finfo(dtype).eps
    torch.testing.assert_close(slope.double(), expected, rtol=0, atol=max(7 * step, 1e-5))


def test_a_class_that_cannot_be_costs_nothing_without_smoothing():
    logits = torch.tensor([[0.0, 0.0, float("-inf")]], requires_grad=True)
    loss, _, _ = smoothed(logits, torch.tensor([1]), 0.0)
    (slope,) = torch.autograd.grad(loss, logits)
    assert float(loss.detach()) == pytest.approx(0.6931472)
    assert slope[0].tolist() == pytest.approx([0.5, -0.5, 0.0])


def test_large_logits_do_not_overflow():
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    loss, nll, _ = smoothed(logits, torch.tensor([1]), 0.1)
    (slope,) = torch.autograd.grad(loss, logits)
    assert float(nll) == 2e4 and bool(slope.isfinite().all())


def test_half_precision_keeps_small_gradients_of_a_scaled_loss():
    logits = torch.zeros(1, 3, dtype=torch.float16)
    logits[0, 0] = 17.0  # the others have probabilities of 4e-8, of which half precision has none
    loss, _, _ = smoothed(logits.requires_grad_(), torch.tensor([0]), 0.0)
    (slope,) = torch.autograd.grad(2**12 * loss, logits)
    assert float(slope[0, 1]) == pytest.approx(2**12 * 4.14e-8, rel=1e-2)
