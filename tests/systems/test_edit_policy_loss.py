"""The loss against torch's, head by head, and sums that no split of a batch changes."""

import math
from typing import Any

import pytest
import tiny
import torch
import torch.nn.functional as F
from fairseq.logging import metrics
from tiny import Triple

from lev_plugins.nn.backends import cpu
from lev_plugins.systems.levenshtein.criterion import (
    EditPolicyLoss,
    EditPolicyLossConfig,
    smoothed,
)

pytestmark = [pytest.mark.device, pytest.mark.kernels]

HEADS = {"deletion": "del", "placeholder": "plh", "token": "tok"}
ROWS = tiny.triples(12, seed=9)
TASK = tiny.task()


def criterion(**options: float) -> EditPolicyLoss:
    return EditPolicyLoss(TASK, EditPolicyLossConfig(**options))


def answered(**options: float) -> tuple:
    """The loss of a batch, its size, what is logged, and each head's logits and labels."""
    model, sample = tiny.sharpen(tiny.model(TASK)).eval(), tiny.training_batch(TASK, ROWS)
    loss, size, log = criterion(**options)(model, sample)
    answers = model(sample["net_input"]["src_tokens"], None, sample["states"])
    return float(loss.detach()), size, log, answers


def cost(answer: tuple[torch.Tensor, torch.Tensor], smoothing: float = 0.0) -> float:
    """(1 − ε) · −log π(label) + ε · mean over classes of −log π, summed over the actions."""
    return float(F.cross_entropy(*answer, reduction="sum", label_smoothing=smoothing).detach())


@pytest.mark.parametrize(
    "token, placeholder, weights",
    [(0.0, 0.01, (1.0, 1.0, 1.0)), (0.1, 0.0, (0.5, 2.0, 3.0)), (0.5, 0.01, (0.0, 0.0, 1.0))],
)
def test_the_loss_is_the_weighted_sum_over_heads_and_actions(token, placeholder, weights):
    options = {f"{head}_weight": weight for head, weight in zip(HEADS, weights, strict=True)}
    loss, _, _, answers = answered(
        label_smoothing=token, placeholder_label_smoothing=placeholder, **options
    )
    smoothings = (0.0, placeholder, token)
    expected = sum(
        weight * cost(answers[head], smoothing)
        for head, weight, smoothing in zip(HEADS, weights, smoothings, strict=True)
    )
    assert loss == pytest.approx(expected, rel=1e-5)


def reduced(logs: list[dict[str, Any]]) -> dict[str, float]:
    with metrics.aggregate(new_root=True) as logged:
        EditPolicyLoss.reduce_metrics(logs)
    return dict(logged.get_smoothed_values())


def test_reports_are_in_bits_per_target_token_and_per_action_and_in_percent():
    loss, size, log, answers = answered()
    assert float(log["loss"]) == pytest.approx(loss)
    report = reduced([log])
    assert report["loss"] == pytest.approx(loss / size / math.log(2), abs=1e-3)
    for head, short in HEADS.items():
        logits, labels = answers[head]
        bits = cost((logits, labels)) / len(labels) / math.log(2)
        assert report[f"{short}_nll"] == pytest.approx(bits, abs=1e-3)
        right = 100 * float((logits.argmax(1) == labels).float().mean())
        assert report[f"{short}_acc"] == pytest.approx(right, abs=1e-2)


def test_a_head_without_a_position_is_not_reported_and_the_report_is_finite():
    model = tiny.sharpen(tiny.model(TASK))
    rows = [Triple("a", "", ""), Triple("b", "", "")]
    _, _, log = criterion()(model, tiny.training_batch(TASK, rows))
    report = reduced([log])
    assert all(math.isfinite(value) for value in report.values())
    assert "plh_nll" in report and "tok_nll" not in report and "del_acc" not in report


# the cross-entropy against torch's ------------------------------------------------------------


@pytest.fixture(params=[24, 2**22], ids=["a few rows at a time", "all rows at once"])
def at_once(request, monkeypatch):
    monkeypatch.setattr(cpu, "CHUNK_BYTES", request.param)


@pytest.mark.parametrize(
    "dtype, rows, smoothing",
    [
        (torch.float64, 5, 0.1),
        (torch.float32, 5, 0.0),
        (torch.float32, 0, 0.1),
        (torch.bfloat16, 5, 0.1),
        (torch.float16, 1, 0.1),
    ],
)
def test_loss_likelihood_hits_and_gradient_are_torchs(at_once, dtype, rows, smoothing):
    torch.manual_seed(rows)
    logits, labels = (3 * torch.randn(rows, 3)).to(dtype), torch.randint(2, (rows,))
    if not smoothing:  # a class that cannot be costs nothing
        logits[:, 2] = -math.inf
    logits.requires_grad_()
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


def test_half_precision_keeps_small_gradients_of_a_scaled_loss():
    logits = torch.zeros(1, 3, dtype=torch.float16)
    logits[0, 0] = 17.0  # the others have probabilities of 4e-8, of which half precision has none
    loss, _, _ = smoothed(logits.requires_grad_(), torch.tensor([0]), 0.0)
    (slope,) = torch.autograd.grad(2**12 * loss, logits)
    assert float(slope[0, 1]) == pytest.approx(2**12 * 4.14e-8, rel=1e-2)
