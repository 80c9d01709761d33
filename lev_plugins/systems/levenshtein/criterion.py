"""The loss of dual-policy learning: −log π of the expert's actions (paper, §3.2 and Alg. 1)."""

import math
from dataclasses import dataclass

import torch
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from ...data.batch import LogOutput
from ...nn.smoothed_loss import smoothed
from ...options import BELOW_ONE, NOT_NEGATIVE, option
from .expert import TrainingBatch

#: the heads, and their names in logs
SHORT = {"deletion": "del", "placeholder": "plh", "token": "tok"}


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
    """Sums over heads and positions, divided by the number of target tokens of all workers.

    So without dropout the gradient does not depend on how a batch is split over workers or
    accumulation steps.
    """

    def __init__(self, task: FairseqTask, cfg: EditPolicyLossConfig) -> None:
        super().__init__(task)
        self.weights = {name: getattr(cfg, f"{name}_weight") for name in SHORT}
        self.smoothing = {
            "deletion": 0.0,
            "placeholder": cfg.placeholder_label_smoothing,
            "token": cfg.label_smoothing,
        }

    def forward(
        self, model: nn.Module, sample: TrainingBatch, reduce: bool = True
    ) -> tuple[Tensor, int, LogOutput]:
        """Returns the summed loss (nats), the sample size (target tokens) and what to log."""
        source = sample["net_input"]
        size = sample["ntokens"]
        src_tokens = source["src_tokens"]
        answers = model(src_tokens, source["src_lengths"], sample["states"])
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
        for name, short in SHORT.items():
            count = total(f"{name}_count")
            if not count:  # no batch had a place for this head
                continue
            bits = total(f"{name}_nll") / count / math.log(2)
            accuracy = 100 * total(f"{name}_correct") / count
            metrics.log_scalar(f"{short}_nll", bits, count, round=3)
            metrics.log_scalar(f"{short}_acc", accuracy, count, round=2)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True
