"""What has to happen when a training begins, however it was started, or resumes."""

import contextvars
import os
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import program_modules
from .checkpoints import wrap_checkpoint_errors
from .lengths import keep_lengths
from .preemption import save_on_signals

if TYPE_CHECKING:
    from fairseq.trainer import Trainer
    from omegaconf import DictConfig

_LAST = "checkpoint_last"
_beginning: contextvars.ContextVar[Any] = contextvars.ContextVar("beginning", default=None)


def require_start(cfg: "DictConfig") -> None:
    """Raise where a training would not begin with the checkpoint that it is to begin with.

    Fault: what is no file is taken for "no checkpoint yet": the training begins from scratch.
    ``checkpoint_last.pt`` may be missing, as it is before the first start.
    """
    from fairseq.file_io import PathManager

    named = {"--restore-file": cfg.restore_file, "--finetune-from-model": cfg.finetune_from_model}
    for flag, path in named.items():
        last = os.path.basename(path or _LAST).startswith(_LAST) and not os.path.isdir(path or "")
        if not last and not PathManager.isfile(path):
            raise UserError(f"{flag} {path}: is no file; name a checkpoint")


def model_class(cfg: Any) -> Any:
    """The class of a model by its settings; None where there is none."""
    from fairseq.models import ARCH_MODEL_REGISTRY

    return ARCH_MODEL_REGISTRY.get(getattr(cfg, "_name", None) or getattr(cfg, "arch", None))


def _look_at(trainer: "Trainer", path: str, state: dict[str, Any]) -> None:
    """Let model and task look at the checkpoint that a training begins with.

    Faults: a resumed training has the options of its command, whatever the checkpoint was trained
    with; those that no parameter shows change it in silence. And what a task keeps in a checkpoint,
    the symbols of its dictionaries say, fairseq's trainer does not give back to it.

    Args:
        trainer: its model's class may have a ``check_resumed(cfg, stored, path)``, and the model a
            ``begin_from(stored, state_dict, path)`` instead for ``--finetune-from-model``; its task
            a ``check_resumed(stored, path)``.
    """
    from fairseq.tasks.translation import TranslationTask

    kind, task = model_class(trainer.cfg.model), trainer.task
    finetuned = path == trainer.cfg.checkpoint.finetune_from_model
    settings = state.get("cfg") or {}
    stored = settings.get("model")
    if stored is not None and finetuned and hasattr(kind, "begin_from"):
        trainer.get_model().begin_from(stored, state["model"], path)
        for name in ("ema", "ema_fp32_params"):  # fairseq makes it anew from the model's
            (state.get("extra_state") or {}).pop(name, None)
    elif stored is not None and hasattr(kind, "check_resumed"):
        kind.check_resumed(trainer.cfg.model, stored, path)
    if isinstance(task, TranslationTask) and isinstance(state.get("task_state"), dict):
        task.load_state_dict(state["task_state"])
    if not finetuned and hasattr(task, "check_resumed"):
        task.check_resumed(settings.get("task"), path)


def prepare_trainings() -> None:
    """Prepare every training at the point where it looks for a checkpoint to resume from.

    That is within ``main``, behind the import of ``--user-dir``: hydra's first job and the
    processes that fairseq spawns pass no function of ours before.
    """
    from fairseq import checkpoint_utils
    from fairseq.optim import OPTIMIZER_REGISTRY

    @patches(checkpoint_utils, "load_checkpoint_to_cpu")
    def load_checkpoint_to_cpu(stock: Stock, path: str, *more: object, **named: object) -> Any:
        """fairseq's; a training that begins with it has a look."""
        state = stock(path, *more, **named)
        if (trainer := _beginning.get()) is not None:
            _look_at(trainer, path, state)
        return state

    @patches(checkpoint_utils, "load_checkpoint")
    def load_checkpoint(
        stock: Stock, cfg: "DictConfig", trainer: "Trainer", **options: object
    ) -> object:
        """Prepare the training, then load as fairseq does."""
        if not trainer.checkpoint_suffix:  # of a shard, whose name fairseq completes
            require_start(cfg)
        # the best of a training before in this process would be this one's
        vars(checkpoint_utils.save_checkpoint).pop("best", None)
        for program in program_modules("train"):
            save_on_signals(program)
        # an optimizer is told of parameters only, not of the layers that they belong to
        optimizer = OPTIMIZER_REGISTRY.get(trainer.cfg.optimizer._name)
        if hasattr(optimizer, "prepare_model"):
            optimizer.prepare_model(trainer.model)

        @patches(trainer, "load_checkpoint")
        def load(stock: Stock, filename: str, *more: object, **named: object) -> object:
            """fairseq's, of a checkpoint that may not fit."""
            left = _beginning.set(trainer)
            try:
                with wrap_checkpoint_errors(filename):
                    return stock(filename, *more, **named)
            finally:
                _beginning.reset(left)

        found = stock(cfg, trainer, **options)
        keep_lengths(trainer)
        if cfg.finetune_from_model and trainer.get_num_updates() == 0:
            trainer._previous_training_time = 0  # fairseq counts that of the other training too
        if hasattr(trainer.lr_scheduler, "seconds"):  # ends the training by its own clock
            trainer.cumulative_training_time = lambda: trainer.lr_scheduler.seconds
        return found
