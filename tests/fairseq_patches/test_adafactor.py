"""fairseq's Adafactor scales each tensor's learning rate by its own size alone."""

import pytest
import torch
from fairseq.logging.progress_bar import JsonProgressBar, SimpleProgressBar
from fairseq.optim.adafactor import Adafactor

from lev_plugins.fairseq_patches import patch_adafactor

STEP, LEARNING_RATE = Adafactor.step, Adafactor._get_lr  # patched when the package was imported
STOCK_STEP, STOCK_LEARNING_RATE = STEP.__wrapped__, LEARNING_RATE.__wrapped__


@pytest.fixture
def stock(monkeypatch):
    """fairseq's own Adafactor, whatever the test makes of it."""
    monkeypatch.setattr(Adafactor, "step", STOCK_STEP)
    monkeypatch.setattr(Adafactor, "_get_lr", STOCK_LEARNING_RATE)


def moves(**options):
    """How far each of four tensors of size 0.1 moves in a step, as a share of its size."""
    tensors = [torch.nn.Parameter(torch.randn(8, 8) / 10) for _ in range(4)]
    optimizer = Adafactor(tensors, **options)
    before = [tensor.detach().clone() for tensor in tensors]
    for tensor in tensors:
        tensor.grad = torch.randn_like(tensor)
    optimizer.step()
    shares = [float((a - b).detach().norm() / b.norm()) for a, b in zip(tensors, before)]
    return shares, optimizer.param_groups[0]["lr"]


T5X = {"lr": 1e-3, "scale_parameter": True, "relative_step": False}


def test_each_tensor_moves_by_the_learning_rate_times_its_size():
    shares, lr = moves(**T5X)
    assert shares == pytest.approx([1e-3] * 4, rel=0.1) and lr == 1e-3


def test_fairseq_still_multiplies_the_sizes_of_all_tensors(stock):
    """Fails once fairseq fixes it: then patch_adafactor can go."""
    shares, lr = moves(**T5X)
    assert shares[3] < shares[0] / 500 and float(lr) < 1e-6


@pytest.mark.parametrize("options", [{**T5X, "scale_parameter": False}, {}])
def test_other_ways_to_set_the_learning_rate_are_fairseqs(stock, options):
    torch.manual_seed(3)
    own = moves(**options)[0]
    patch_adafactor()
    torch.manual_seed(3)
    assert moves(**options)[0] == own


@pytest.mark.parametrize("bar", [SimpleProgressBar, JsonProgressBar])
def test_progress_shows_no_sums(bar):
    shown = bar([])._format_stats({"loss": 1.5, "_cell_0": 3.0})
    assert list(shown) == ["loss"]
