"""Trainings that diverge."""

import math
from typing import TYPE_CHECKING, Any

from torch import nn

from ..errors import UserError
from ..io.finite import REMEDY
from ..io.patching import Stock, patches
from ..io.saving import last_good

if TYPE_CHECKING:
    from fairseq.nan_detector import NanDetector
    from fairseq.trainer import Trainer

_DIVERGED = ("gradients are Nan/Inf", "Minimum loss scale reached")


def stop_when_diverged() -> None:
    """Let a training that diverges end in one line, and write nothing over a good checkpoint.

    Faults: gradients that are not finite end in a traceback, and what looks for the layer behind
    them in another one, since its hooks on the way back do not know a model that returns a record.
    And whatever the parameters and the validation loss have become is saved, as
    ``checkpoint_last.pt`` too.
    """
    from fairseq import nan_detector, trainer

    if trainer.NanDetector is not nan_detector.NanDetector:
        return
    trainer.NanDetector = _first_layer(trainer.NanDetector)

    @patches(trainer.Trainer, "train_step")
    def train_step(stock: Stock, self: "Trainer", *args: object, **options: object) -> object:
        """fairseq's; a training that has diverged ends in a UserError."""
        try:
            return stock(self, *args, **options)
        except Exception as error:
            reason = _divergence(error)
            if reason is None:
                raise
            raise _stopped(self, reason) from error

    @patches(trainer.Trainer, "save_checkpoint")
    def save_checkpoint(
        stock: Stock, self: "Trainer", filename: str, extra_state: dict[str, Any]
    ) -> object:
        """fairseq's; ``extra_state`` has the validation's loss, or what stands for it.

        Raises:
            UserError: the loss is NaN; other metrics may have no value for a bad model.
        """
        loss = extra_state.get("val_loss")
        is_loss = self.cfg.checkpoint.best_checkpoint_metric == "loss"
        if loss is not None and is_loss and math.isnan(loss):
            raise _stopped(self, "the validation loss is NaN")
        return stock(self, filename, extra_state)


def _first_layer(detector: Any) -> "type[NanDetector]":
    """fairseq's detector that logs the first layer whose output is not finite, and no gradients."""

    class FirstLayer(detector):
        def __init__(self, model: nn.Module) -> None:
            super().__init__(model, backward=False)

        def __exit__(self, *error: object) -> None:
            self.close()

    return FirstLayer


def _divergence(error: BaseException | None) -> str | None:
    """What fairseq said when a training diverged, wherever it stands behind an exception."""
    while error is not None:
        said = str(error)
        if isinstance(error, FloatingPointError) and said.startswith(_DIVERGED):
            nan = said.startswith(_DIVERGED[0])
            return "gradients are not finite" if nan else said.partition(". ")[0]
        error = error.__cause__ or error.__context__
    return None


def _stopped(trainer: "Trainer", reason: str) -> UserError:
    return UserError(
        f"the training has diverged after {trainer.get_num_updates()} updates ({reason}); {REMEDY}"
        f"{last_good(trainer.cfg.checkpoint.save_dir)}"
    )
