"""Fault: fairseq tells nothing between its lines, however long, and ends with "done" after nothing.

A training says at least every half a minute how long it takes, and at its end how little it was.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..io.patching import Stock, patches

logger = logging.getLogger(__name__)

SILENCE = 30.0  # seconds, the longest without a line that tells the time left
FEW_UPDATES = 200  # below which a training has hardly begun
_USEFUL_UPDATES = 2000  # that small models need at least, on which the advice is based
_LAST_LINE = "done training in"


class Course:
    """The training that runs in this process.

    Attributes:
        trainer: of fairseq.
        spent_limit: the limit that it had reached before it began, and what to do, or None.
        first_update: updates that were made before.
        last_told: when a line last told the time left.
    """

    current: "Course | None" = None

    def __init__(self, trainer: Any, spent_limit: str | None) -> None:
        self.trainer, self.spent_limit = trainer, spent_limit
        self.first_update, self.start = trainer.get_num_updates(), time.monotonic()
        self.last_told = self.start

    def time_left(self) -> str:
        """How long it takes from now on, in words."""
        limits, updates = self.trainer.cfg.optimization, self.trainer.get_num_updates()
        if limits.stop_time_hours > 0:
            passed = self.trainer._local_cumulative_training_time()
            minutes = max(limits.stop_time_hours * 60 - passed / 60, 0.0)
            return f"{minutes:.1f} minutes left (--stop-time-hours)"
        done, passed = updates - self.first_update, time.monotonic() - self.start
        if limits.max_update > 0 and done:
            minutes = max(passed / 60 * (limits.max_update - updates) / done, 0.0)
            return f"about {minutes:.1f} minutes left (--max-update)"
        return f"{passed / 60:.1f} minutes have passed"

    def advice(self) -> str | None:
        """What to do about a training that did nothing, or hardly anything."""
        limits, updates = self.trainer.cfg.optimization, self.trainer.get_num_updates()
        if self.spent_limit and updates == self.first_update:
            return f"nothing was left to do: {self.spent_limit}"
        if updates >= FEW_UPDATES or limits.max_update > 0:
            return None
        hours = self.trainer.cumulative_training_time() / 3600
        if not 0 < limits.stop_time_hours <= hours:
            way_on = "let it run longer (--max-epoch, --patience), or give it more data"
        else:
            needed = hours * _USEFUL_UPDATES / max(updates, 1)
            # rounded up
            needed_hours = f"{needed + 0.05:.1f}" if needed < 10 else f"{needed + 0.5:.0f}"
            way_on = (
                f"the same command with --stop-time-hours {needed_hours} goes on to about "
                f"{_USEFUL_UPDATES} of them on this machine; smaller batches (--max-tokens) or "
                "models make more in the same time"
            )
        return f"only {updates} updates, too few to learn from: {way_on}"

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """Within, a line tells the time left wherever none has for :data:`SILENCE` seconds."""
        is_over = threading.Event()

        def tell() -> None:
            while not is_over.wait(max(self.last_told + SILENCE - time.monotonic(), 0.1)):
                if time.monotonic() - self.last_told >= SILENCE:
                    self.last_told = time.monotonic()
                    updates = self.trainer.get_num_updates()
                    logger.info("%d updates, %s", updates, self.time_left())

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            is_over.set()
            teller.join()


def _note_time_left(record: logging.LogRecord) -> bool:
    if Course.current is not None and "minutes_left" in record.getMessage():
        Course.current.last_told = time.monotonic()
    return True


def _add_advice(record: logging.LogRecord) -> bool:
    course = Course.current
    if course is not None and str(record.msg).startswith(_LAST_LINE):
        Course.current = None
        if advice := course.advice():
            record.msg = f"{record.msg}; {advice}"
    return True


def _train(stock: Stock, cfg: Any, trainer: Any, *more: Any, **options: Any) -> Any:
    """An epoch of fairseq's."""
    course = Course.current
    if course is None or not trainer.is_data_parallel_master or cfg.common.log_format == "none":
        return stock(cfg, trainer, *more, **options)
    with course.telling():
        return stock(cfg, trainer, *more, **options)


def tell_progress(program: ModuleType) -> None:
    """Let the training of ``program`` (fairseq_cli.train) tell its time, however slow it is."""
    if _add_advice not in program.logger.filters:
        program.logger.addFilter(_add_advice)
        logging.getLogger("fairseq.logging.progress_bar").addFilter(_note_time_left)
        patches(program, "train")(_train)
