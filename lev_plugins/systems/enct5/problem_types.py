"""What EncT5 predicts: the instantiations of the paper's algorithms 1 to 3.

==================  ============  =============  ==========================  =====================
kind                latents       positions      head                        loss
==================  ============  =============  ==========================  =====================
classification (1)  1             one            C classes                   cross-entropy
regression (1)      1             one            1 value                     squared error
multilabel (2)      N             range(N)       2, of its own each label    cross-entropy, N times
multilabel_pooled   1             one            N                           binary cross-entropy
tagging (3)         1             one a word     C classes                   cross-entropy
==================  ============  =============  ==========================  =====================

Shapes: E examples, N labels or classes, P predictions (examples, or words).
"""

import enum
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import UserError


class ProblemType(enum.Enum):
    """What is predicted of a text; one that there is not raises :class:`UserError`."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"
    MULTILABEL = "multilabel"
    MULTILABEL_POOLED = "multilabel_pooled"
    TAGGING = "tagging"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise UserError(f"--kind {value!s:.40}: there are {', '.join(KINDS)}")

    @property
    def many(self) -> bool:
        """Whether any number of labels may hold."""
        return self in (ProblemType.MULTILABEL, ProblemType.MULTILABEL_POOLED)

    def vocabulary(self, number: int) -> int:
        """How many latents there are, for so many labels."""
        return number if self is ProblemType.MULTILABEL else 1

    def latents(self, words: int, number: int) -> Tensor:
        """The decoder's input for one example.

        Args:
            words: of the example, for tagging.
            number: of labels.
        """
        if self is ProblemType.MULTILABEL:
            return torch.arange(number)
        return torch.zeros(words if self is ProblemType.TAGGING else 1, dtype=torch.long)

    def targets(self, labels: Sequence[Tensor], number: int) -> Tensor:
        """What is to be predicted of several examples, in order.

        Args:
            labels: of each example, as the data hold them: ids, or the bits of a value.
            number: N.

        Returns:
            E classes, long; E values, double; E × N, bool; or the tags of all words, long.
        """
        if self.many:
            rows = torch.zeros(len(labels), number, dtype=torch.bool)
            for row, ids in zip(rows, labels):
                row[ids.long()] = True
            return rows
        if not labels:
            return torch.zeros(0, dtype=torch.long)
        joined = torch.cat(list(labels))
        return values_of(joined) if self is ProblemType.REGRESSION else joined.long()

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The loss, in nats or squared units, summed over predictions.

        Args:
            logits: P × C; E × 1; or E × N × 2 for multilabel, E × N for multilabel_pooled.
            targets: as :meth:`targets` gives them.
        """
        if self is ProblemType.REGRESSION:
            return F.mse_loss(logits.squeeze(-1), targets.to(logits.dtype), reduction="sum")
        if self is ProblemType.MULTILABEL:
            return F.cross_entropy(logits.flatten(0, 1), targets.long().flatten(), reduction="sum")
        if self is ProblemType.MULTILABEL_POOLED:
            wanted = targets.to(logits.dtype)
            return F.binary_cross_entropy_with_logits(logits, wanted, reduction="sum")
        return F.cross_entropy(logits, targets, reduction="sum")

    def scores(self, logits: Tensor) -> Tensor:
        """Probabilities of classes or labels, P × C, or values, E × 1."""
        if self is ProblemType.REGRESSION:
            return logits
        if self is ProblemType.MULTILABEL:
            return logits.softmax(-1)[..., 1]
        return logits.sigmoid() if self is ProblemType.MULTILABEL_POOLED else logits.softmax(-1)


def bits_of(values: Sequence[float]) -> Tensor:
    """E values as 2 · E integers of 32 bits: the labels' data set holds nothing else."""
    return torch.tensor(values, dtype=torch.double).view(torch.int32)


def values_of(bits: Tensor) -> Tensor:
    """What :func:`bits_of` was given, double; integers of any size, not changed."""
    return bits.to(torch.int32, copy=True).view(torch.double)


KINDS: list[str] = [kind.value for kind in ProblemType]
