"""What a training begins with.

Faults: a checkpoint that is no file is taken for none yet; options that no parameter shows change
a resumed training in silence; what a task keeps in a checkpoint is not given back to it; nothing
says that no time is left, and one more update is made.
"""

import contextvars
import os
from collections.abc import Callable
from typing import Any

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import lacking

from ..io.patching import Stock, patches
from ..io.program import program_modules
from .checkpoints import wrap_checkpoint_errors
from .hooks import Start, hooks_of, model_class
from .kept_paths import require_subwords
from .line_lengths import keep_lengths
from .progress import Course, tell_progress
from .signals import save_on_signals

_LAST = "checkpoint_last"
_beginning: contextvars.ContextVar[Any] = contextvars.ContextVar("beginning", default=None)
#: called with the model of each training that begins, which lies on its device
PREPARATIONS: list[Callable[[Any], None]] = []


def _require_start(cfg: DictConfig) -> None:
    """Raises :class:`UserError`: what the training is to begin with is no file."""
    restored = cfg.restore_file
    folder, name = os.path.split(restored)
    in_own_folder = os.path.realpath(folder or cfg.save_dir) == os.path.realpath(cfg.save_dir)
    if in_own_folder and name.startswith(_LAST) and not os.path.isdir(restored):
        restored = None  # of this training, which may not have saved yet
    starts = {
        "--restore-file": restored,
        "--finetune-from-model": cfg.finetune_from_model,
        "--continue-once": getattr(cfg, "continue_once", None),
    }
    for flag, path in starts.items():
        if path and not PathManager.isfile(path):
            raise UserError(f"{flag} {path} {lacking(path) or 'is no file'}; name a checkpoint")


def run_begin_hooks(trainer: Any, path: str, state: dict[str, Any]) -> None:
    """Let model and task look at the checkpoint that a training begins with."""
    cfg, task, model = trainer.cfg, trainer.task, trainer.get_model()
    start = Start(path, state, model, finetuned=path == cfg.checkpoint.finetune_from_model)
    stored = state.get("cfg") or {}
    if stored.get("model") is not None:
        if not start.finetuned:
            hooks_of(model_class(cfg.model)).check_resumed(cfg.model, stored["model"], path)
        elif getattr(stored["model"], "rotary_positions", False):
            if not getattr(cfg.model, "rotary_positions", True):
                raise UserError(f"{path}: was trained with --rotary-positions; give it here too")
        hooks_of(model).begin_from(start)
    hooks_of(task).begin_from(start)
    if isinstance(task, TranslationTask) and isinstance(state.get("task_state"), dict):
        task.load_state_dict(state["task_state"])
    if not start.finetuned:
        hooks_of(task).check_resumed(getattr(task, "cfg", None), stored.get("task"), path)


@patches(checkpoint_utils, "load_checkpoint_to_cpu")
def load_checkpoint_to_cpu(stock: Stock, path: str, *more: object, **options: object) -> Any:
    """fairseq's; a training that begins with it has a look."""
    state = stock(path, *more, **options)
    if _beginning.get() is not None:
        run_begin_hooks(_beginning.get(), path, state)
    return state


def _load(stock: Stock, trainer: Any, path: str, *more: object, **options: object) -> Any:
    """A trainer's: reads a checkpoint, which may not fit."""
    token = _beginning.set(trainer)
    try:
        with wrap_checkpoint_errors(path):
            return stock(path, *more, **options)
    finally:
        _beginning.reset(token)


@patches(checkpoint_utils, "load_checkpoint")
def load_checkpoint(stock: Stock, cfg: DictConfig, trainer: Any, **options: object) -> Any:
    """Prepare a training where it looks for a checkpoint to resume from."""
    if not trainer.checkpoint_suffix:  # of a shard, whose name fairseq completes
        _require_start(cfg)
    require_subwords(trainer.cfg)
    # the best of a training before in this process would be this one's
    vars(checkpoint_utils.save_checkpoint).pop("best", None)
    for program in program_modules("train"):
        save_on_signals(program)
        tell_progress(program)
    optimizer = OPTIMIZER_REGISTRY.get(trainer.cfg.optimizer._name)
    hooks_of(optimizer).prepare_model(trainer.model)
    for prepare in PREPARATIONS:
        prepare(trainer.model)

    @patches(trainer, "load_checkpoint")
    def load(stock: Stock, path: str, *more: object, **named: object) -> Any:
        return _load(stock, trainer, path, *more, **named)

    extra_state, epoch_itr = stock(cfg, trainer, **options)
    keep_lengths(trainer)
    hooks_of(trainer.lr_scheduler).begin_training(trainer)
    limit = _spent_limit(trainer, epoch_itr)
    if limit is not None:
        trainer.cfg.optimization.max_epoch = -1  # fairseq looks behind an update, after one more
    Course.current = Course(trainer, limit)
    return extra_state, epoch_itr


def _spent_limit(trainer: Any, epoch_itr: Any) -> str | None:
    """Which limit a training has reached before it begins, and what to do."""
    limits, updates = trainer.cfg.optimization, trainer.get_num_updates()
    hours = trainer.cumulative_training_time() / 3600
    epochs = getattr(epoch_itr, "next_epoch_idx", 0) - 1
    if 0 < limits.max_update <= updates:
        return f"{updates} updates are made, and --max-update is {limits.max_update}; give more"
    if 0 < limits.stop_time_hours < hours:
        budget = f"the {limits.stop_time_hours:g} hours of --stop-time-hours are used up"
        return f"{budget} after {updates} updates; give more of them to go on"
    if 0 < limits.max_epoch <= epochs:
        return f"{epochs} epochs are made, and --max-epoch is {limits.max_epoch}; give more"
    return None
