"""Logs the time left of a training every half a minute, and a warning after too few updates."""

import logging
import threading
import time
from types import ModuleType
from typing import Any

from ..io.patching import Stock, patches

logger = logging.getLogger(__name__)

SILENCE = 30.0  # seconds
FEW_UPDATES = 200  # below which a training has hardly begun
_running: list[
    Any
] = []  # the trainer that runs in this process, and when a line last told the time


def time_left(trainer: Any) -> str:
    """Returns the time left in words: by the clock, or estimated from the updates so far."""
    limits, updates = trainer.cfg.optimization, trainer.get_num_updates()
    minutes = trainer._local_cumulative_training_time() / 60
    if limits.stop_time_hours > 0:
        left = limits.stop_time_hours * 60 - minutes
        return f"{max(left, 0):.1f} minutes left (--stop-time-hours)"
    if limits.max_update > 0 and updates:
        left = minutes * (limits.max_update / updates - 1)
        return f"about {max(left, 0):.1f} minutes left (--max-update)"
    return f"{minutes:.1f} minutes have passed"


def train(stock: Stock, cfg: Any, trainer: Any, *more: Any, **options: Any) -> Any:
    """Trains for an epoch; another thread logs the time left, however slow an update is."""
    is_over = threading.Event()

    def tell() -> None:
        while not is_over.wait(max(_running[1] + SILENCE - time.monotonic(), 0)):
            _running[1] = time.monotonic()
            logger.info("%d updates, %s", trainer.get_num_updates(), time_left(trainer))

    if trainer.is_data_parallel_master and cfg.common.log_format != "none":
        threading.Thread(target=tell, daemon=True).start()
    try:
        return stock(cfg, trainer, *more, **options)
    finally:
        is_over.set()


def warn_of_few_updates(record: logging.LogRecord) -> bool:
    """Adds a warning to fairseq's last line; a filter of the training's logger."""
    if _running and str(record.msg).startswith("done training in"):
        trainer = _running[0]
        updates = trainer.get_num_updates()
        if updates < FEW_UPDATES and not trainer.cfg.optimization.max_update > 0:
            way_out = "train longer (--stop-time-hours, --max-epoch, --patience)"
            record.msg += f"; only {updates} updates, too few to learn from: {way_out}"
    return True


def tell_progress(program: ModuleType, trainer: Any) -> None:
    """Makes the training of ``program`` (fairseq_cli.train) log its progress."""
    _running[:] = trainer, time.monotonic()
    if warn_of_few_updates not in program.logger.filters:
        program.logger.addFilter(warn_of_few_updates)
        patches(program, "train")(train)
