"""The criterion: the loss per class, value, label or word."""

import math
from typing import Any

from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor, nn

from .problem_types import ProblemType

CRITERION = "enct5"
#: key of the predictions in a validation's logging output, which the task takes out again
PREDICTIONS = "predictions"


@register_criterion(CRITERION, dataclass=FairseqDataclass)  # without options
class EncT5Criterion(FairseqCriterion):
    """The loss of the task's problem type, a mean over classes, values, labels or words.

    Logging outputs are sums. In validation they also hold :data:`PREDICTIONS`, see
    :meth:`.ProblemType.predictions`.
    """

    def forward(
        self, model: nn.Module, sample: dict[str, Any], reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Any]]:
        """Returns the summed loss of a batch, the number of its predictions, and what to log."""
        problem_type = self.task.problem_type
        targets = sample["target"]
        logits = model(**sample["net_input"]).float()
        loss = problem_type.loss(logits, targets)
        unit = 1.0 if problem_type is ProblemType.REGRESSION else math.log(2)
        log = {
            "loss": loss.detach() / unit,
            "nsentences": sample["nsentences"],
            "ntokens": sample["ntokens"],
            "sample_size": targets.numel(),
        }
        if not model.training:
            log[PREDICTIONS] = problem_type.predictions(logits.detach()).cpu()
        return loss, targets.numel(), log

    @staticmethod
    def reduce_metrics(logging_outputs: list[dict[str, Any]]) -> None:
        """Logs the loss: bits per prediction, or squared units per value."""
        loss = sample_size = 0.0
        for log in logging_outputs:
            loss += float(log.get("loss", 0))
            sample_size += float(log.get("sample_size", 0))
        mean = loss / max(sample_size, 1)
        metrics.log_scalar("loss", mean, sample_size, round=3)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        """Returns True: all are sums over a batch."""
        return True
