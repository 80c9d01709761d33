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
from ...errors import UserError
from ...options import option
from .config import HEADS
from .loss import smoothed
from .roll_in import TrainingBatch, expert_labels


@dataclass
class EditPolicyLossConfig(FairseqDataclass):
    label_smoothing: float = option(0.1, "label smoothing of the token head (paper, §C.1)")
    placeholder_label_smoothing: float = option(0.01, "label smoothing of the placeholder head")
    deletion_weight: float = option(1.0, "weight of the deletion loss")
    placeholder_weight: float = option(1.0, "weight of the placeholder loss")
    token_weight: float = option(1.0, "weight of the token loss")


@register_criterion("edit_policy_loss", dataclass=EditPolicyLossConfig)
class EditPolicyLoss(FairseqCriterion):
    """Sum over heads and positions, divided by the number of target tokens of all workers.

    The log-likelihoods of all actions of a batch are summed, as in the paper; ``sample_size`` is
    the number of target tokens, so that the gradient does not depend on how a batch is split
    over workers or accumulation steps.
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
