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
from ...nn.backends import chunk_rows
from ...options import BELOW_ONE, NOT_NEGATIVE, option
from .expert import TrainingBatch
from .operations import OPERATIONS


@dataclass
class EditPolicyLossConfig(FairseqDataclass):
    label_smoothing: float = option(
        0.1, "label smoothing of the token head (paper, §C.1)", within=BELOW_ONE
    )
    placeholder_label_smoothing: float = option(
        0.01, "label smoothing of the placeholder head", within=BELOW_ONE
    )
    deletion_weight: float = option(1.0, "weight of the deletion loss", within=NOT_NEGATIVE)
    placeholder_weight: float = option(1.0, "weight of the placeholder loss", within=NOT_NEGATIVE)
    token_weight: float = option(1.0, "weight of the token loss", within=NOT_NEGATIVE)


@register_criterion("edit_policy_loss", dataclass=EditPolicyLossConfig)
class EditPolicyLoss(FairseqCriterion):
    """Sum over heads and positions, divided by the number of target tokens of all workers.

    So without dropout the gradient does not depend on how a batch is split over workers or
    accumulation steps.
    """

    def __init__(self, task: FairseqTask, cfg: EditPolicyLossConfig) -> None:
        super().__init__(task)
        self.weights, self.smoothing = {}, {}
        for operation in OPERATIONS.values():
            self.weights[operation.name] = getattr(cfg, f"{operation.name}_weight", 1.0)
            smoothing = operation.smoothing
            self.smoothing[operation.name] = getattr(cfg, smoothing) if smoothing else 0.0

    def forward(
        self, model: nn.Module, sample: TrainingBatch, reduce: bool = True
    ) -> tuple[Tensor, int, LogOutput]:
        """Returns the summed loss (nats), the sample size (target tokens) and what to log."""
        source = sample["net_input"]
        size = sample["ntokens"]
        src_tokens = source["src_tokens"]
        answers = model(src_tokens, source["src_lengths"], sample["expert"])
        log: LogOutput = dict(ntokens=size, nsentences=len(sample["target"]), sample_size=size)
        loss = torch.zeros((), device=src_tokens.device)
        for name, (logits, labels) in answers.items():
            head_loss, nll, correct = smoothed(logits, labels, self.smoothing[name])
            loss = loss + self.weights[name] * head_loss
            log[f"{name}_nll"] = nll
            log[f"{name}_correct"] = correct
            log[f"{name}_count"] = labels.numel()
        return loss, size, {**log, "loss": loss.detach()}

    @staticmethod
    def reduce_metrics(logging_outputs: list[LogOutput]) -> None:
        """Sums over workers. Losses are shown in bits."""

        def total(key: str) -> float:
            return float(sum(log.get(key, 0) for log in logging_outputs))

        size = max(total("sample_size"), 1)
        metrics.log_scalar("loss", total("loss") / size / math.log(2), size, round=3)
        for operation in OPERATIONS.values():
            name, short = operation.name, operation.short
            count = total(f"{name}_count")
            if not count:  # the model has not got this operation
                continue
            bits = total(f"{name}_nll") / count / math.log(2)
            accuracy = 100 * total(f"{name}_correct") / count
            metrics.log_scalar(f"{short}_nll", bits, count, round=3)
            metrics.log_scalar(f"{short}_acc", accuracy, count, round=2)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True


def smoothed(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """Sums over P of the loss with label smoothing, of −log p of the labels (nats), and of how
    often the label is the likeliest class; in single precision where the logits have less.

    logits: P × classes. labels: P. smoothing: share that all classes have in common.
    """
    return _Smoothed.apply(logits, labels, smoothing)


def _blocks(logits: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """A few rows of all of them at a time, while the cache holds them: torch goes over an update's
    largest matrix at every step of the loss. The logits are in single precision or more."""
    size = chunk_rows(logits)
    wide = torch.promote_types(logits.dtype, torch.float32)
    columns = [values.split(size) for values in others]
    for part, *rest in zip(logits.split(size), *columns):
        yield part.to(wide), *rest


class _Smoothed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, labels: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        labels = labels.unsqueeze(1)
        norms, sums, hits = [], [], []
        for part, own in _blocks(logits, labels):
            norm = part.logsumexp(1, keepdim=True)
            own_logits = part.gather(1, own)
            # −log p of the label, and the mean of all classes'
            costs = norm - torch.cat([own_logits, part.mean(1, keepdim=True)], 1)
            best = part.max(1, keepdim=True).indices  # sooner than argmax
            norms.append(norm)
            sums.append(costs.sum(0))
            hits.append((best == own).sum())
        ctx.save_for_backward(logits, labels, torch.cat(norms))
        ctx.smoothing = smoothing
        nll, even = fold(torch.add, sums).unbind()
        correct = fold(torch.add, hits)
        ctx.mark_non_differentiable(nll, correct)
        # without smoothing a class of probability 0 costs nothing
        loss = torch.lerp(nll, even, smoothing) if smoothing else nll.clone()
        return loss, nll, correct

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *unused: Tensor) -> tuple[Tensor, None, None]:
        # d/dx of −(1 − ε) log p(label) − ε mean log p = p − ε / classes − (1 − ε) [label]
        logits, labels, norms = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        places = gradient.split(chunk_rows(gradient))
        for place, (part, own, norm) in zip(places, _blocks(logits, labels, norms)):
            rows = (part - norm).exp_().sub_(ctx.smoothing / part.size(1))
            rows.scatter_add_(1, own, torch.full_like(norm, ctx.smoothing - 1))
            place.copy_(rows.mul_(grad))
        return gradient, None, None
