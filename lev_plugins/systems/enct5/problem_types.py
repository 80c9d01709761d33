"""The kinds of EncT5's predictions: the instantiations of the paper's algorithms 1 to 3.

==================  ============  =============  ==========================  =====================
kind                latents       positions      head                        loss
==================  ============  =============  ==========================  =====================
classification (1)  1             one            C classes                   cross-entropy
regression (1)      1             one            1 value                     squared error
multilabel (2)      N             range(N)       2, one head per label       cross-entropy, N times
multilabel_pooled   1             one            N                           binary cross-entropy
tagging (3)         1             one per word   C classes                   cross-entropy
==================  ============  =============  ==========================  =====================

Shapes: E examples, N labels or classes, P predictions (examples, or words).
"""

import enum
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_runtime.errors import UserError


class ProblemType(enum.Enum):
    """Kinds of predictions; an unknown name raises :class:`UserError`."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"
    MULTILABEL = "multilabel"
    MULTILABEL_POOLED = "multilabel_pooled"
    TAGGING = "tagging"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise UserError(f"--kind {value!s:.40}: choose from {', '.join(KINDS)}")

    @property
    def is_multilabel(self) -> bool:
        """Returns whether any number of labels may hold."""
        return self in (ProblemType.MULTILABEL, ProblemType.MULTILABEL_POOLED)

    def num_latents(self, num_labels: int) -> int:
        """Returns the size of the latent vocabulary, for N labels."""
        return num_labels if self is ProblemType.MULTILABEL else 1

    def latents(self, num_words: int, num_labels: int) -> Tensor:
        """Returns the decoder's input for one example, long; only taggers depend on its words."""
        if self is ProblemType.MULTILABEL:
            return torch.arange(num_labels)
        length = num_words if self is ProblemType.TAGGING else 1
        return torch.zeros(length, dtype=torch.long)

    def targets(self, labels: Sequence[Tensor], num_labels: int) -> Tensor:
        """Returns the targets of several examples, in order.

        Args:
            labels: the labels of each example as the data hold them: ids, or a value's bits.
            num_labels: N.

        Returns:
            E classes, long; E values, double; E × N, bool; or the tags of all words, long.
        """
        if self.is_multilabel:
            rows = torch.zeros(len(labels), num_labels, dtype=torch.bool)
            for row, ids in zip(rows, labels):
                row[ids.long()] = True
            return rows
        joined = torch.cat(list(labels))
        return values_of(joined) if self is ProblemType.REGRESSION else joined.long()

    def plain_labels(self, labels: Tensor) -> list[int] | list[float]:
        """Returns the ids of an example, or its value, as a list."""
        values = values_of(labels) if self is ProblemType.REGRESSION else labels
        return values.tolist()  # type: ignore[no-any-return]

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the loss, in nats or squared units, summed over predictions.

        Args:
            logits: P × C; E × 1; or E × N × 2 for multilabel, E × N for multilabel_pooled.
            targets: as :meth:`targets` gives them.
        """
        if self is ProblemType.REGRESSION:
            return F.mse_loss(logits.squeeze(-1), targets.to(logits.dtype), reduction="sum")
        if self is ProblemType.MULTILABEL:
            return F.cross_entropy(logits.flatten(0, 1), targets.long().flatten(), reduction="sum")
        if self is ProblemType.MULTILABEL_POOLED:
            targets = targets.to(logits.dtype)
            return F.binary_cross_entropy_with_logits(logits, targets, reduction="sum")
        return F.cross_entropy(logits, targets, reduction="sum")

    def scores(self, logits: Tensor) -> Tensor:
        """Returns probabilities of classes or labels, P × C, or values, E × 1."""
        if self is ProblemType.REGRESSION:
            return logits
        if self is ProblemType.MULTILABEL:
            return logits.softmax(-1)[..., 1]
        if self is ProblemType.MULTILABEL_POOLED:
            return logits.sigmoid()
        return logits.softmax(-1)

    def predictions(self, logits: Tensor) -> Tensor:
        """Returns what validation keeps: ids, P; values, E; or probabilities, E × N."""
        if self is ProblemType.REGRESSION:
            return logits.squeeze(-1)
        if self.is_multilabel:
            return self.scores(logits)
        return logits.argmax(-1)


def bits_of(values: Sequence[float]) -> Tensor:
    """Returns E values as 2 · E integers of 32 bits, the type of the labels' data set."""
    return torch.tensor(values, dtype=torch.double).view(torch.int32)


def values_of(bits: Tensor) -> Tensor:
    """Returns the values, double, of :func:`bits_of`; ``bits``: of any integer type."""
    return bits.to(torch.int32, copy=True).view(torch.double)


KINDS: list[str] = [kind.value for kind in ProblemType]
