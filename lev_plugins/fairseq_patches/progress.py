"""Logs the time left of a training every half a minute, and a warning after too few updates."""

import logging
import time
from types import ModuleType
from typing import Any

from fairseq.trainer import Trainer

from lev_runtime.errors import counted

from ..io.patching import Stock, patches

logger = logging.getLogger(__name__)

SILENCE = 30.0  # seconds
FEW_UPDATES = 200  # below which a training has hardly begun
_running: list[Any] = []  # the trainer of this process


def time_left(trainer: Any) -> str:
    """Returns the time left in words: by the clock, or estimated from the updates so far."""
    limits, updates = trainer.cfg.optimization, trainer.get_num_updates()
    minutes = trainer._local_cumulative_training_time() / 60
    left = limits.stop_time_hours * 60 - minutes
    if limits.max_update > 0 and not limits.stop_time_hours and updates:
        left = minutes * (limits.max_update / updates - 1)
    return f"{left:.1f} minutes left" if left > 0 else f"{minutes:.1f} minutes have passed"


def tell_time_left(trainer: Any) -> None:
    """Logs the time left, if no line has for half a minute."""
    last = getattr(trainer, "last_line", trainer._start_time)
    is_shown = trainer.is_data_parallel_master and trainer.cfg.common.log_format != "none"
    if is_shown and time.time() > last + SILENCE:
        trainer.last_line = time.time()
        logger.info("%s, %s", counted(trainer.get_num_updates(), "update"), time_left(trainer))


@patches(Trainer, "train_step")
def train_step(stock: Stock, self: Any, *arguments: Any, **options: Any) -> Any:
    """Logs the time left after an update."""
    outputs = stock(self, *arguments, **options)
    tell_time_left(self)
    return outputs


def warn_of_few_updates(record: logging.LogRecord) -> bool:
    """Adds a warning to fairseq's last line; a filter of the training's logger."""
    if str(record.msg).startswith("done training in"):
        trainer = _running[0]
        updates = trainer.get_num_updates()
        if updates < FEW_UPDATES and not trainer.cfg.optimization.max_update > 0:
            way_out = "train longer (--stop-time-hours, --max-epoch, --patience)"
            record.msg += f"; only {counted(updates, 'update')}, too few to learn from: {way_out}"
    return True


def watch(program: ModuleType, trainer: Any) -> None:
    """Makes the training of ``program`` (fairseq_cli.train) warn of too few updates."""
    _running[:] = [trainer]
    program.logger.addFilter(warn_of_few_updates)
