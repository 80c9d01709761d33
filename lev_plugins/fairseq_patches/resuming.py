"""What a training must know to resume, and fairseq does not keep."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..io.patching import Stock, patches

if TYPE_CHECKING:
    from fairseq.trainer import Trainer

logger = logging.getLogger(__name__)

_KEPT = "carried_over"  # in a checkpoint's ``extra_state``
_PATIENCE = ("best", "num_runs")
_METRIC = ("best_checkpoint_metric", "maximize_best_checkpoint_metric")
_PLATEAU = ("num_bad_epochs", "cooldown_counter", "last_epoch")


def _plateau(trainer: "Trainer") -> object:
    """torch's scheduler below ``reduce_lr_on_plateau``; None below any other."""
    return getattr(trainer.lr_scheduler, "lr_scheduler", None)


def _numbers(holder: object, names: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, Any] = {name: getattr(holder, name, None) for name in names}
    # a loss may be one of numpy's or torch's
    plain = {name: one.item() if hasattr(one, "item") else one for name, one in found.items()}
    return {name: one for name, one in plain.items() if one is not None}


def _metric(trainer: "Trainer") -> list[object]:
    """What the best checkpoint is chosen by, and whether more is better."""
    return [getattr(trainer.cfg.checkpoint, name, None) for name in _METRIC]


@contextmanager
def _compared(trainer: "Trainer", path: str) -> Iterator[None]:
    """Let model and task look at the settings of a checkpoint that is read meanwhile.

    Fault: a resumed training has the options of its command, whatever the checkpoint was trained
    with; those that no parameter shows change it in silence.

    Args:
        trainer: its model's class may have a ``check_resumed(cfg, stored, path)``, and the model a
            ``begin_from(stored, state_dict, path)`` instead for ``--finetune-from-model``; its task
            a ``check_resumed(stored, path)``.
        path: of the checkpoint.
    """
    from fairseq import checkpoint_utils
    from fairseq.models import ARCH_MODEL_REGISTRY

    cfg = trainer.cfg.model
    name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
    kind = ARCH_MODEL_REGISTRY.get(name)
    check = getattr(kind, "check_resumed", None)
    task = getattr(trainer, "task", None)
    finetuned = path == getattr(trainer.cfg.checkpoint, "finetune_from_model", None)
    read = checkpoint_utils.load_checkpoint_to_cpu

    @patches(checkpoint_utils, "load_checkpoint_to_cpu")
    def compare(stock: Stock, path: str, *arguments: object, **options: object) -> object:
        """fairseq's; the training's model begins from it, or checks that it can be resumed."""
        state = stock(path, *arguments, **options)
        settings = state.get("cfg") or {}
        stored = settings.get("model")
        if stored is not None and finetuned and hasattr(kind, "begin_from"):
            trainer.get_model().begin_from(stored, state["model"], path)
            for name in ("ema", "ema_fp32_params"):  # fairseq makes it anew from the model's
                (state.get("extra_state") or {}).pop(name, None)
        elif stored is not None and check is not None:
            check(cfg, stored, path)
        if not finetuned and task is not None and hasattr(task, "check_resumed"):
            task.check_resumed(settings.get("task"), path)
        return state

    try:
        yield
    finally:
        checkpoint_utils.load_checkpoint_to_cpu = read


def restore_early_stopping(main: Callable[..., object]) -> None:
    """Let a training that is resumed stop, and lower its learning rate, when it would have.

    Faults: the best value so far is compared with those of another metric, if the training is
    resumed with one, so that it may stay the best for ever. ``--patience`` counts validations
    without progress from nought after every break. A checkpoint is written at an epoch's end before
    ``--lr-scheduler reduce_lr_on_plateau`` has seen the loss, which it then never sees; nor does it
    remember how many epochs brought nothing.

    Args:
        main: what trains; the function beside it that stops early keeps its count as attributes.
    """
    from fairseq.trainer import Trainer

    should_stop_early = main.__globals__.get("should_stop_early")
    if should_stop_early is None or hasattr(Trainer.lr_step, "__wrapped__"):
        return

    _keep_counts(should_stop_early)
    _restore_counts(should_stop_early)
    _see_last_loss()


def _keep_counts(should_stop_early: object) -> None:
    """Lets checkpoints say what fairseq forgets."""
    from fairseq.trainer import Trainer

    @patches(Trainer, "save_checkpoint")
    def save_checkpoint(
        stock: Stock, self: Trainer, filename: str, extra_state: dict[str, Any]
    ) -> object:
        """fairseq's, with what it forgets."""
        kept = {
            "patience": _numbers(should_stop_early, _PATIENCE),
            "plateau": _numbers(_plateau(self), _PLATEAU),
            "metric": _metric(self),
        }
        return stock(self, filename, {**extra_state, _KEPT: kept})


def _restore_counts(should_stop_early: object) -> None:
    """Lets a training that is resumed take up what its checkpoint says."""
    from fairseq.trainer import Trainer

    @patches(Trainer, "load_checkpoint")
    def load_checkpoint(
        stock: Stock,
        self: Trainer,
        filename: str,
        reset_optimizer: bool = False,
        reset_lr_scheduler: bool = False,
        optimizer_overrides: dict[str, object] | None = None,
        reset_meters: bool = False,
    ) -> dict[str, Any] | None:
        """fairseq's; what is to be reset is not carried over."""
        resets = (reset_optimizer, reset_lr_scheduler, optimizer_overrides, reset_meters)
        with _compared(self, filename):
            extra: dict[str, Any] | None = stock(self, filename, *resets)
        kept = (extra or {}).get(_KEPT, {})
        same = kept.get("metric", _metric(self)) == _metric(self)
        if extra and not same:
            said = "%s: its best value was of %s; the best of %s is looked for from here on"
            logger.info(said, filename, kept["metric"][0], _metric(self)[0])
            extra.pop("best", None)
        if kept and same and not (reset_optimizer or reset_meters):
            vars(should_stop_early).update(kept["patience"])
        if extra and kept and not (reset_optimizer or reset_lr_scheduler):
            if _plateau(self) is not None:
                vars(_plateau(self)).update(kept["plateau"])
            within = extra.get("train_iterator", {}).get("iterations_in_epoch", 1)
            self.loss_to_see = None if within else extra.get("val_loss")
        return extra


def _see_last_loss() -> None:
    """Lets a learning rate that follows the validation's loss see the one before the break."""
    from fairseq.trainer import Trainer

    @patches(Trainer, "lr_step")
    def lr_step(stock: Stock, self: Trainer, epoch: int, val_loss: float | None = None) -> object:
        """fairseq's; the first one of a resumed training sees the last loss."""
        if val_loss is None and getattr(self, "loss_to_see", None) is not None:
            val_loss, self.loss_to_see = self.loss_to_see, None
            self.lr_step_update()  # which tells a scheduler that it has warmed up
        return stock(self, epoch, val_loss)
