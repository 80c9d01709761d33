"""Fault: fairseq handles no signal: a cluster kills a training, and Ctrl-C leaves tracebacks.

A handler sets a flag, and behind the update at hand the training saves and ends.
"""

import contextlib
import mmap
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.util import Finalize
from types import ModuleType
from typing import Any

import torch
from fairseq import checkpoint_utils
from fairseq.data.iterators import CountingIterator

from lev_runtime.io.commands import INTERRUPTED

from ..io.patching import Stock, patches

#: those that ask for a checkpoint, and Ctrl-C, which does not; the first in this list counts first
SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
_SAVING = SIGNALS[:2]
_IMPATIENT = 2.0  # seconds: torchrun and a terminal send the same Ctrl-C twice, people wait longer
received: list[int] = []  # by this process, the first one first
_handled: dict[int, Any] = {}  # signals that had no handler of the user's, and what they had
Handler = Callable[[int, Any], None]


def _handle(numbers: Sequence[signal.Signals], handler: Handler) -> None:
    """Takes signals for which nobody has a handler, or a training before in this process."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in numbers:
        default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        if number in _handled or signal.getsignal(number) == default:
            _handled[number] = default
            signal.signal(number, handler)


def _note(number: int, frame: object) -> None:
    received.append(number)


# Ctrl-C -------------------------------------------------------------------------------------------


def interrupted(what_now: str) -> int:
    """Says in a line on standard error what Ctrl-C has done; gives the exit status."""
    after_bar = "\n" if sys.stderr is not None and sys.stderr.isatty() else ""
    with contextlib.suppress(OSError):  # not by print: a signal may come while something is printed
        os.write(2, f"{after_bar}Ctrl-C: {what_now}\n".encode())
    return INTERRUPTED


def end_on_interrupt(cfg: Any) -> None:
    """Lets Ctrl-C end the training that begins now: at once, or, of several processes, together.

    A process that leaves alone leaves the others waiting for it. So these end behind the update at
    hand, and where Ctrl-C is pressed again at once.
    """
    is_one_of_several = cfg.distributed_training.distributed_world_size > 1
    times: list[float] = []

    def interrupt(number: int, frame: object) -> None:
        received.append(number)
        times.append(time.monotonic())
        together = is_one_of_several and torch.distributed.is_initialized()
        if not together or times[-1] - times[0] >= _IMPATIENT:
            raise SystemExit(interrupted(_way_on(cfg.checkpoint)))

    _handle((signal.SIGINT,), interrupt)


def _way_on(cfg: Any) -> str:
    last = os.path.join(cfg.save_dir, "checkpoint_last.pt")
    start = last if cfg.restore_file == "checkpoint_last.pt" else cfg.restore_file
    if os.path.isfile(start):
        return f"the training ends; the same command goes on from {start}"
    return f"the training ends; there is no {start} yet, so the same command begins anew"


# processes that fairseq spawns --------------------------------------------------------------------


def _pass_on(number: int, frame: object) -> None:
    received.append(number)
    for child in multiprocessing.active_children():
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid or 0, number)


@contextlib.contextmanager
def watched(spawns: bool) -> Iterator[None]:
    """A training runs inside, in processes that fairseq spawns or not, whose status is ours."""
    try:
        if spawns:
            _handle(SIGNALS, _pass_on)
        yield
        if spawns and signal.SIGINT in received:  # before the processes could say so
            raise SystemExit(interrupted("the training had not begun"))
    except torch.multiprocessing.ProcessExitedException as error:
        if error.exit_code not in {128 + number for number in received}:
            raise
        raise SystemExit(error.exit_code) from None
    finally:
        for number, default in _handled.items():
            signal.signal(number, default)
        _handled.clear()
        received.clear()


# processes that load data -------------------------------------------------------------------------

# A cluster sends its signals to these too: they go on until the training says that it is over, and
# then end by the SIGTERM with which Python ends them. 1 then, in memory that all of them share:
_is_over = mmap.mmap(-1, 1)
Finalize(None, _is_over.__setitem__, args=(0, 1), exitpriority=100)


def _leave_signals_to_training(worker: int) -> None:
    def end_when_over(number: int, frame: object) -> None:
        if _is_over[0]:
            os._exit(0)

    for number in SIGNALS:
        signal.signal(number, end_when_over)


@patches(CountingIterator, "__init__")
def count(stock: Stock, self: CountingIterator, iterable: Any, *more: Any, **options: Any) -> None:
    """fairseq's, which begins to read."""
    loader = getattr(iterable, "_iterable", iterable)  # behind a buffer
    if isinstance(loader, torch.utils.data.DataLoader) and signal.SIGTERM in _handled:
        loader.worker_init_fn = _leave_signals_to_training
    stock(self, iterable, *more, **options)


# how the training ends ----------------------------------------------------------------------------


def asked_by(trainer: Any) -> int:
    """The signal that any process has received, 0 for none."""
    numbers = received
    if trainer.data_parallel_world_size > 1:
        numbers = getattr(trainer, "agreed_signals", [])
    return next((number for number in SIGNALS if number in numbers), 0)


def save_on_signals(program: ModuleType) -> None:
    """Let the training of ``program`` (fairseq_cli.train) that begins now save and end when asked.

    Clusters ask by SIGTERM or SIGUSR1, some time before they kill a job.
    """
    _handle(_SAVING, _note)
    if not hasattr(program.validate_and_save, "__wrapped__"):
        patches(program, "validate_and_save")(_validate_and_save)


def _validate_and_save(
    stock: Stock, cfg: Any, trainer: Any, task: Any, epoch_itr: Any, *more: Any, **options: Any
) -> tuple[list[float | None], bool]:
    """fairseq's, behind every update; after a signal the last one."""
    number = asked_by(trainer)
    if number == signal.SIGINT:
        if trainer.is_data_parallel_master:
            interrupted(_way_on(cfg.checkpoint))
        raise SystemExit(INTERRUPTED)
    if number:  # a validation may take longer than the cluster waits
        cfg.checkpoint.no_last_checkpoints = False
        checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, epoch_itr, None)
    losses, should_stop = stock(cfg, trainer, task, epoch_itr, *more, **options)
    if number and not should_stop:
        if trainer.is_data_parallel_master:
            name, updates = signal.Signals(number).name, trainer.get_num_updates()
            sys.stderr.write(f"{name}: the training ends after {updates} updates\n")
        raise SystemExit(128 + number)
    return losses, should_stop
