"""The loss of EncT5: per class, value, label or word."""

import math
from typing import Any

from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor, nn

from .metrics import PREFIX
from .problem_types import ProblemType

CRITERION = "enct5"


@register_criterion(CRITERION, dataclass=FairseqDataclass)  # without options
class EncT5Criterion(FairseqCriterion):
    """The task's kind's loss, a mean over predictions: classes, values, labels or words. Logging
    outputs are sums, in validation with those that the task's metrics are made of.
    """

    def forward(
        self, model: nn.Module, sample: dict[str, Any], reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Any]]:
        """The summed loss of a batch, how many predictions it is of, and what to log."""
        kind, targets = self.task.kind, sample["target"]
        logits = model(**sample["net_input"]).float()
        loss = kind.loss(logits, targets)
        unit = 1.0 if kind is ProblemType.REGRESSION else math.log(2)
        log = {
            "loss": loss.detach() / unit,
            "nsentences": sample["nsentences"],
            "ntokens": sample["ntokens"],
            "sample_size": targets.numel(),
        }
        if not model.training:
            scores = kind.scores(logits.detach()).cpu()
            counted = self.task.statistics(scores, targets.cpu(), sample)
            log.update({PREFIX + name: value for name, value in counted.items()})
        return loss, targets.numel(), log

    @staticmethod
    def reduce_metrics(logging_outputs: list[dict[str, Any]]) -> None:
        """Logs the loss: bits a prediction, or squared units a value."""
        loss = sum(float(log.get("loss", 0)) for log in logging_outputs)
        size = sum(float(log.get("sample_size", 0)) for log in logging_outputs)
        metrics.log_scalar("loss", loss / max(size, 1), size, round=3)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        """Each is a number, or a tensor of them: the sum over a batch."""
        return True
