"""What has to happen when a training begins, however it was started."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import program_modules
from ..io.saving import checkpoint_in
from .divergence import stop_when_diverged
from .lengths import look_at_lengths
from .precision import ignore_overflows_on_cpu
from .preemption import save_on_signals
from .resuming import restore_early_stopping
from .symbols import resumed_by

if TYPE_CHECKING:
    from fairseq.trainer import Trainer
    from omegaconf import DictConfig

_LAST = "checkpoint_last"
_LEAKING = ("best", "num_runs")


def forget_last_training(*functions: Callable[..., object]) -> None:
    """Forget what a training before this one has left on fairseq's functions.

    Fault: ``save_checkpoint`` and ``should_stop_early`` keep the best score and the validations
    without progress as attributes of their own. In ``fairseq-hydra-train -m`` they outlive a job:
    one that gets no better than the job before writes no ``checkpoint_best.pt``, and ``--patience``
    counts on from there.
    """
    for function in functions:
        for name in _LEAKING:
            vars(function).pop(name, None)


def forget_training_time(cfg: "DictConfig", trainer: "Trainer") -> None:
    """Count the time of a training that starts from another one's parameters from zero.

    Fault: ``--finetune-from-model`` takes over how long the other one was trained, and
    ``--stop-time-hours`` ends the new one too early, or at its first update.
    """
    if cfg.finetune_from_model and trainer.get_num_updates() == 0:
        trainer._previous_training_time = 0


def require_start(cfg: "DictConfig") -> None:
    """Raise where a training would not begin with the checkpoint that it is to begin with.

    Fault: what is no file is taken for "no checkpoint yet": the training begins from scratch.
    ``checkpoint_last.pt`` may be missing, as it is before the first start.
    """
    from fairseq.file_io import PathManager

    named = {"--restore-file": cfg.restore_file, "--finetune-from-model": cfg.finetune_from_model}
    for flag, path in named.items():
        if path and os.path.isdir(path):
            inside = checkpoint_in(path) or "a file in it"
            raise UserError(f"{flag} {path}: is a directory; name a checkpoint: {inside}")
        last = os.path.basename(path or _LAST).startswith(_LAST)
        if not last and not PathManager.exists(path):
            raise UserError(f"{flag} {path}: does not exist; check the path")


def prepare_trainings() -> None:
    """Prepare every training at the point where it looks for a checkpoint to resume from.

    That is within ``main``, behind the import of ``--user-dir``: hydra's first job and the
    processes that fairseq spawns pass no function of ours before.
    """
    from fairseq import checkpoint_utils
    from fairseq.optim import OPTIMIZER_REGISTRY

    @patches(checkpoint_utils, "load_checkpoint")
    def load_checkpoint(
        stock: Stock, cfg: "DictConfig", trainer: "Trainer", **options: object
    ) -> object:
        """Prepare the training, then load as fairseq does."""
        if not trainer.checkpoint_suffix:  # of a shard, whose name fairseq completes
            require_start(cfg)
        forget_last_training(checkpoint_utils.save_checkpoint)
        ignore_overflows_on_cpu()
        stop_when_diverged()
        for program in program_modules("train"):
            forget_last_training(program.should_stop_early)
            restore_early_stopping(program.main)
            save_on_signals(program, trainer.tpu)
        # an optimizer is told of parameters only, not of the layers that they belong to
        optimizer = OPTIMIZER_REGISTRY.get(trainer.cfg.optimizer._name)
        if hasattr(optimizer, "prepare_model"):
            optimizer.prepare_model(trainer.model)
        with resumed_by(trainer.task):
            found = stock(cfg, trainer, **options)
        look_at_lengths(trainer)
        forget_training_time(cfg, trainer)
        return found
