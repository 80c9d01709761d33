"""The loss against a loop over single actions, and sums that no split of a batch changes."""

import math
from typing import Any

import pytest
import tiny
import torch
import torch.nn.functional as F
from fairseq.logging import metrics
from refusals import refuses
from tiny import Triple

from lev_plugins.nn import cpu
from lev_plugins.systems.levenshtein import criterion as criterions
from lev_plugins.systems.levenshtein.criterion import (
    EditPolicyLoss,
    smoothed,
)

pytestmark = pytest.mark.kernels

HEADS = {"deletion": "del", "placeholder": "plh", "token": "tok"}
ROWS = tiny.triples(12, seed=9)


@pytest.fixture(scope="module")
def task():
    return tiny.task()


@pytest.fixture(scope="module")
def model(task):
    return tiny.sharpen(tiny.model(task)).eval()


def criterion(task: Any, **options: float) -> EditPolicyLoss:
    values = {
        "label_smoothing": 0.1,
        "placeholder_label_smoothing": 0.01,
        "deletion_weight": 1.0,
        "placeholder_weight": 1.0,
        "token_weight": 1.0,
    }
    return EditPolicyLoss(task, **{**values, **options})


class Answering(torch.nn.Module):
    """A model whose answers are given, each head's logits and the expert's labels for them."""

    def __init__(self, **answers: tuple[torch.Tensor, torch.Tensor]) -> None:
        super().__init__()
        self.answers = answers

    def forward(self, src_tokens, src_lengths, roll_in):
        return {head: logits for head, (logits, _) in self.answers.items()}, src_tokens


@pytest.fixture
def fixed(monkeypatch) -> Answering:
    """Random answers; the expert's labels are theirs."""
    generator = torch.Generator().manual_seed(1)

    def answer(positions: int, classes: int):
        logits = 3 * torch.randn(positions, classes, generator=generator)
        labels = torch.randint(classes, (positions,), generator=generator)
        return logits.requires_grad_(), labels

    made = Answering(deletion=answer(7, 2), placeholder=answer(6, 5), token=answer(4, 11))
    labels = {head: labels for head, (_, labels) in made.answers.items()}
    monkeypatch.setattr(criterions, "expert_labels", lambda *_: labels)
    return made


def sample_of(task: Any, rows=ROWS, **options: Any) -> dict[str, Any]:
    return tiny.training_batch(task, rows, **options)


def slow_head(logits: torch.Tensor, labels: torch.Tensor, smoothing: float) -> float:
    """(1 − ε) · −log π(label) + ε · mean over classes of −log π, action by action."""
    total = 0.0
    for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
        normaliser = math.log(sum(math.exp(value) for value in row))
        costs = [normaliser - value for value in row]
        total += (1 - smoothing) * costs[label] + smoothing * sum(costs) / len(costs)
    return total


@pytest.mark.parametrize(
    ("token", "placeholder", "weights"),
    [(0.0, 0.01, (1.0, 1.0, 1.0)), (0.1, 0.0, (0.5, 2.0, 3.0)), (0.5, 0.01, (0.0, 0.0, 1.0))],
)
def test_the_loss_is_the_weighted_sum_over_heads_and_actions(
    task, fixed, token, placeholder, weights
):
    model = fixed
    names = ("deletion_weight", "placeholder_weight", "token_weight")
    loss, _, _ = criterion(
        task,
        label_smoothing=token,
        placeholder_label_smoothing=placeholder,
        **dict(zip(names, weights, strict=True)),
    )(model, sample_of(task))
    smoothings = (0.0, placeholder, token)
    expected = sum(
        weight * slow_head(*model.answers[head], smoothing)
        for head, weight, smoothing in zip(HEADS, weights, smoothings, strict=True)
    )
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)


def test_what_is_logged_is_the_likelihood_without_smoothing_and_the_share_right(task, fixed):
    model = fixed
    loss, _, log = criterion(task)(model, sample_of(task))
    for head, (logits, labels) in model.answers.items():
        assert float(log[f"{head}_nll"]) == pytest.approx(slow_head(logits, labels, 0.0), rel=1e-5)
        assert int(log[f"{head}_right"]) == int((logits.argmax(1) == labels).sum())
        assert log[f"{head}_count"] == len(labels)
    assert float(log["loss"]) == pytest.approx(float(loss.detach()))
    assert not any(torch.is_tensor(value) and value.requires_grad for value in log.values())


def test_the_gradient_does_not_depend_on_the_split_of_a_batch(task):
    def gradient(*parts: range) -> list[torch.Tensor]:
        model = tiny.sharpen(tiny.model(task)).eval().double()
        tokens = 0
        for part in parts:
            rows = [ROWS[i] for i in part]
            loss, size, _ = criterion(task)(model, sample_of(task, rows, ids=part))
            loss.backward()
            tokens += size
        return [parameter.grad / tokens for parameter in model.parameters()]

    whole, split = gradient(range(12)), gradient(range(3), range(3, 4), range(4, 12))
    for one, other in zip(whole, split, strict=True):
        # in double precision: single loses a hundredth in a model with such large parameters
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9 * float(one.abs().max()))


def reduced(logs: list[dict[str, Any]]) -> dict[str, float]:
    with metrics.aggregate(new_root=True) as found:
        EditPolicyLoss.reduce_metrics(logs)
    return dict(found.get_smoothed_values())


def test_reports_are_in_bits_per_target_token_and_per_action_and_in_percent(task, fixed):
    model = fixed
    loss, size, log = criterion(task)(model, sample_of(task))
    report = reduced([log])
    assert report["loss"] == pytest.approx(float(loss.detach()) / size / math.log(2), abs=1e-3)
    for head, short in HEADS.items():
        logits, labels = model.answers[head]
        bits = slow_head(logits, labels, 0.0) / len(labels) / math.log(2)
        assert report[f"{short}_nll"] == pytest.approx(bits, abs=1e-3)
        right = 100 * float((logits.argmax(1) == labels).float().mean())
        assert report[f"{short}_acc"] == pytest.approx(right, abs=1e-2)


EXTREMES = {
    "empty targets": [Triple("a", "", ""), Triple("b", "", "")],
    "empty targets, drafts": [Triple("a", "", "abc"), Triple("b", "", "d")],
    "everything empty": [Triple("", "", "")],
    "one token": [Triple("a", "b", "c")],
    "drafts are right": [Triple("a", "abc", "abc"), Triple("b", "d", "d")],
    "drafts share nothing": [Triple("a", "abc", "defg"), Triple("b", "a", "h")],
}


@pytest.mark.parametrize(
    ("rows", "share", "tokens"),
    [
        (rows, share, tokens)
        for number, rows in enumerate(EXTREMES.values())
        for share, tokens in [[(0.0, "argmax"), (1.0, "sample")], [(0.5, "random")]][number % 2]
    ],
)
def test_extreme_batches_have_a_finite_loss_and_report(task, rows, share, tokens):
    model = tiny.sharpen(tiny.model(task))
    sample = sample_of(task, rows, alpha=share, beta=share, tokens=tokens)
    loss, size, log = criterion(task)(model, sample)
    loss.backward()
    assert loss.isfinite() and loss >= 0 and size > 0
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    assert all(math.isfinite(value) for value in reduced([log]).values())


def test_a_head_without_a_position_is_not_reported(task):
    sample = sample_of(task, EXTREMES["empty targets"])
    _, _, log = criterion(task)(tiny.model(task), sample)
    assert log["token_count"] == log["deletion_count"] == 0 and log["placeholder_count"] == 2
    report = reduced([log])
    assert "plh_nll" in report and "tok_nll" not in report and "del_acc" not in report


@pytest.mark.parametrize(
    "options",
    [
        {"label_smoothing": 1.0},
        {"label_smoothing": -0.1},
        {"placeholder_label_smoothing": 1.5},
        {"token_weight": -1.0},
        {"deletion_weight": 0.0, "placeholder_weight": 0.0, "token_weight": 0.0},
    ],
)
def test_values_out_of_range_are_refused_in_one_line(task, options):
    with refuses():
        criterion(task, **options)


# the cross-entropy against torch's ------------------------------------------------------------


@pytest.fixture(params=[6, 10**6], ids=["two rows at a time", "all rows at once"])
def at_once(request, monkeypatch):
    monkeypatch.setattr(cpu, "AT_ONCE", request.param)


@pytest.mark.parametrize(
    ("dtype", "rows", "smoothing"),
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


def test_half_precision_keeps_small_gradients_of_a_scaled_loss():
    logits = torch.zeros(1, 3, dtype=torch.float16)
    logits[0, 0] = 17.0  # the others have probabilities of 4e-8, of which half precision has none
    loss, _, _ = smoothed(logits.requires_grad_(), torch.tensor([0]), 0.0)
    (slope,) = torch.autograd.grad(2**12 * loss, logits)
    assert float(slope[0, 1]) == pytest.approx(2**12 * 4.14e-8, rel=1e-2)
