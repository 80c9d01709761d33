"""fairseq's Adafactor scales each tensor's learning rate by its own size alone."""

import pytest
import torch
from fairseq.optim.adafactor import Adafactor

import lev_plugins  # noqa: F401  (patches)

STOCK = {name: getattr(Adafactor, name).__wrapped__ for name in ("step", "_get_lr")}
T5X = {"lr": 1e-3, "scale_parameter": True, "relative_step": False}


def moves(**options):
    """How far each of four tensors of size 0.1 moves in a step, as a share of its size."""
    torch.manual_seed(3)
    tensors = [torch.nn.Parameter(torch.randn(8, 8) / 10) for _ in range(4)]
    optimizer = Adafactor(tensors, **options)
    before = [tensor.detach().clone() for tensor in tensors]
    for tensor in tensors:
        tensor.grad = torch.randn_like(tensor)
    optimizer.step()
    shares = [float((a - b).detach().norm() / b.norm()) for a, b in zip(tensors, before)]
    return shares, float(optimizer.param_groups[0]["lr"])


def test_each_tensor_moves_by_the_learning_rate_times_its_size(monkeypatch):
    shares, lr = moves(**T5X)
    assert shares == pytest.approx([1e-3] * 4, rel=0.1) and lr == 1e-3
    others = [{**T5X, "scale_parameter": False}, {}]
    ours = [moves(**options) for options in others]
    for name, function in STOCK.items():
        monkeypatch.setattr(Adafactor, name, function)
    assert [moves(**options)[0] for options in others] == [one[0] for one in ours]


@pytest.mark.upgrade
def test_fairseq_multiplies_the_sizes_of_all_tensors(monkeypatch):
    for name, function in STOCK.items():
        monkeypatch.setattr(Adafactor, name, function)
    shares, lr = moves(**T5X)
    assert shares[3] < shares[0] / 500 and lr < 1e-6, "the fault is gone"
