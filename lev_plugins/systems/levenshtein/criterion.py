"""The loss of dual-policy learning: −log π of the expert's actions (paper, §3.2 and Alg. 1)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce as fold
from typing import Any

import torch
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from ...data.batch import LogOutput
from ...errors import UserError
from ...nn.blocks import rows_at_once
from ...options import option
from .config import HEADS
from .roll_in import TrainingBatch, expert_labels


@dataclass
class EditPolicyLossConfig(FairseqDataclass):
    """Options of the loss."""

    label_smoothing: float = option(0.1, "label smoothing of the token head (paper, §C.1)")
    placeholder_label_smoothing: float = option(0.01, "label smoothing of the placeholder head")
    deletion_weight: float = option(1.0, "weight of the deletion loss")
    placeholder_weight: float = option(1.0, "weight of the placeholder loss")
    token_weight: float = option(1.0, "weight of the token loss")


@register_criterion("edit_policy_loss", dataclass=EditPolicyLossConfig)
class EditPolicyLoss(FairseqCriterion):
    """Sum over heads and positions, divided by the number of target tokens of all workers.

    The log-likelihoods of all actions of a batch are summed, as in the paper; ``sample_size`` is
    the number of target tokens, so that without dropout the gradient does not depend on how a
    batch is split over workers or accumulation steps.
    """

    def __init__(
        self,
        task: FairseqTask,
        label_smoothing: float,
        placeholder_label_smoothing: float,
        deletion_weight: float,
        placeholder_weight: float,
        token_weight: float,
    ) -> None:
        super().__init__(task)
        self.smoothing = {
            "deletion": 0.0,
            "placeholder": placeholder_label_smoothing,
            "token": label_smoothing,
        }
        self.weights = {
            "deletion": deletion_weight,
            "placeholder": placeholder_weight,
            "token": token_weight,
        }
        for name, value in self.smoothing.items():
            if not 0 <= value < 1:
                raise UserError(f"label smoothing of the {name} head is {value}; use 0 … below 1")
        if min(self.weights.values()) < 0 or not any(self.weights.values()):
            raise UserError("head weights must not be negative, and one has to be above 0")

    def forward(
        self, model: nn.Module, sample: TrainingBatch, reduce: bool = True
    ) -> tuple[Tensor, int, LogOutput]:
        """Returns the summed loss (nats), the sample size (target tokens) and what to log."""
        source = sample["net_input"]
        roll_in = sample["roll_in"]
        outputs, deletion_inputs = model(source["src_tokens"], source["src_lengths"], roll_in)
        labels = expert_labels(roll_in, deletion_inputs, outputs["placeholder"].size(1) - 1)
        log: LogOutput = {}
        loss = torch.zeros((), device=source["src_tokens"].device)
        for name in HEADS:
            label = labels[name]
            head, nll, right = smoothed(outputs[name], label, self.smoothing[name])
            loss = loss + self.weights[name] * head
            log[f"{name}_nll"], log[f"{name}_right"] = nll, right
            log[f"{name}_count"] = label.numel()
        sample_size = sample["ntokens"]
        log.update(
            loss=loss.detach(),
            ntokens=sample["ntokens"],
            nsentences=sample["target"].size(0),
            sample_size=sample_size,
        )
        return loss, sample_size, log

    @staticmethod
    def reduce_metrics(logging_outputs: list[LogOutput]) -> None:
        """Sums over workers; nothing is averaged twice. Losses are shown in bits."""

        def total(key: str) -> float:
            return float(sum(log.get(key, 0) for log in logging_outputs))

        size = max(total("sample_size"), 1)
        metrics.log_scalar("loss", total("loss") / size / math.log(2), size, round=3)
        for name in HEADS:
            count = total(f"{name}_count")
            if count:
                short = {"deletion": "del", "placeholder": "plh", "token": "tok"}[name]
                bits = total(f"{name}_nll") / count / math.log(2)
                metrics.log_scalar(f"{short}_nll", bits, count, round=3)
                right = 100 * total(f"{name}_right") / count
                metrics.log_scalar(f"{short}_acc", right, count, round=2)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True


# Cross-entropy over a few rows at a time: the logits of a batch's tokens are the largest matrix of
# an update, and torch goes over all of it at every step of the loss. Here a few rows at a time are
# done with while the cache holds them, in the forward and again in the backward pass.


def smoothed(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """Sums over positions of the loss with label smoothing, and of what is logged.

    Args:
        logits: P × classes. labels: P. smoothing: share that all classes have in common.

    Returns:
        the loss; −log p of the labels, in nats; how often the label is the likeliest class. In
        single precision where the logits have less.
    """
    loss, nll, right = _Smoothed.apply(logits, labels, smoothing)
    return loss, nll, right


def _blocks(logits: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """A few rows of all of them at a time, the logits in single precision or more."""
    size = rows_at_once(logits)
    wide = torch.promote_types(logits.dtype, torch.float32)
    for part, *rest in zip(logits.split(size), *(one.split(size) for one in others)):
        yield part.to(wide), *rest


class _Smoothed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, labels: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        labels = labels.unsqueeze(1)
        norms, sums, right = [], [], []
        for part, own in _blocks(logits, labels):
            norm = part.logsumexp(1, keepdim=True)
            # −log p of the label, and the mean of all classes'
            costs = norm - torch.cat([part.gather(1, own), part.mean(1, keepdim=True)], 1)
            norms.append(norm)
            sums.append(costs.sum(0))
            right.append((part.max(1, keepdim=True).indices == own).sum())  # sooner than argmax
        ctx.save_for_backward(logits, labels, torch.cat(norms))
        ctx.smoothing = smoothing
        nll, even = fold(torch.add, sums).unbind()
        found = fold(torch.add, right)
        ctx.mark_non_differentiable(nll, found)
        # without smoothing a class of probability 0 costs nothing
        loss = torch.lerp(nll, even, smoothing) if smoothing else nll.clone()
        return loss, nll, found

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *unused: Tensor) -> tuple[Tensor, None, None]:
        # d/dx of −(1 − ε) log p(label) − ε mean log p = p − ε / classes − (1 − ε) [label]
        logits, labels, norms = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        places = gradient.split(rows_at_once(gradient))
        for place, (part, own, norm) in zip(places, _blocks(logits, labels, norms)):
            rows = (part - norm).exp_().sub_(ctx.smoothing / part.size(1))
            rows.scatter_add_(1, own, torch.full_like(norm, ctx.smoothing - 1))
            place.copy_(rows.mul_(grad))
        return gradient, None, None
