"""What a training says of its time while it runs, and of how little it was at its end."""

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
_ENOUGH = 2000  # updates that small models need at least, on which the advice is based
_DONE = "done training in"  # fairseq's last line


class _Course:
    """The training that runs in this process.

    Attributes:
        trainer: of fairseq.
        began: updates that were made before.
        told: when a line last told the time left.
    """

    def __init__(self, trainer: Any, spent: str | None) -> None:
        self.trainer, self.spent = trainer, spent
        self.began, self.started = trainer.get_num_updates(), time.monotonic()
        self.told = self.started

    def left(self) -> str:
        """How long it takes from now on, in words."""
        limits, updates = self.trainer.cfg.optimization, self.trainer.get_num_updates()
        if limits.stop_time_hours > 0:
            seconds = 3600 * limits.stop_time_hours
            seconds -= self.trainer._local_cumulative_training_time()
            return f"{max(seconds, 0.0) / 60:.1f} minutes left (--stop-time-hours)"
        made, passed = updates - self.began, time.monotonic() - self.started
        if limits.max_update > 0 and made:
            seconds = passed * (limits.max_update - updates) / made
            return f"about {max(seconds, 0.0) / 60:.1f} minutes left (--max-update)"
        return f"{passed / 60:.1f} minutes have passed"

    def verdict(self) -> str | None:
        """What to do about a training that did nothing, or hardly anything."""
        limits, updates = self.trainer.cfg.optimization, self.trainer.get_num_updates()
        if self.spent and updates == self.began:
            return f"nothing was left to do: {self.spent}"
        if updates >= FEW_UPDATES or limits.max_update > 0:
            return None
        few = f"only {updates} updates, too few to learn from"
        hours = self.trainer.cumulative_training_time() / 3600
        if 0 < limits.stop_time_hours <= hours:
            needed = hours * _ENOUGH / max(updates, 1)
            return (
                f"{few}: the same command with --stop-time-hours {_rounded_up(needed)} goes on "
                f"to about {_ENOUGH} of them on this machine; smaller batches (--max-tokens) or "
                "models make more in the same time"
            )
        return f"{few}: let it run longer (--max-epoch, --patience), or give it more data"


def _rounded_up(hours: float) -> str:
    return f"{hours + 0.05:.1f}" if hours < 10 else f"{hours + 0.5:.0f}"


_course: list[_Course] = []  # the one that runs, or none


def begin_course(trainer: Any, spent: str | None) -> None:
    """Says which training runs from now on, and which limit it had reached already."""
    _course[:] = [_Course(trainer, spent)]


# its lines ----------------------------------------------------------------------------------------


def _note_time_left(record: logging.LogRecord) -> bool:
    if _course and "minutes_left" in record.getMessage():
        _course[0].told = time.monotonic()
    return True


def _add_verdict(record: logging.LogRecord) -> bool:
    if _course and str(record.msg).startswith(_DONE):
        verdict = _course.pop().verdict()
        if verdict is not None:
            record.msg = f"{record.msg}; {verdict}"
    return True


@contextlib.contextmanager
def _time_told(course: _Course) -> Iterator[None]:
    """Within, a line tells the time left wherever none has for :data:`SILENCE` seconds."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(max(course.told + SILENCE - time.monotonic(), 0.1)):
            if time.monotonic() - course.told >= SILENCE:
                course.told = time.monotonic()
                logger.info("%d updates, %s", course.trainer.get_num_updates(), course.left())

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def tell_progress(program: ModuleType) -> None:
    """Let the training of ``program`` (fairseq_cli.train) tell its time, however slow it is.

    Fault: fairseq counts updates between its lines, and ends with "done" whatever was done.
    """
    if _add_verdict in program.logger.filters:
        return
    program.logger.addFilter(_add_verdict)
    logging.getLogger("fairseq.logging.progress_bar").addFilter(_note_time_left)

    @patches(program, "train")
    def train(stock: Stock, cfg: Any, trainer: Any, *more: Any, **named: Any) -> Any:
        if not _course or not trainer.is_data_parallel_master or cfg.common.log_format == "none":
            return stock(cfg, trainer, *more, **named)
        with _time_told(_course[0]):
            return stock(cfg, trainer, *more, **named)
