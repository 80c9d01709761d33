"""How trainings end when a signal asks them to, in one process and in several."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch
from fairseq import checkpoint_utils

from ..io.patching import Stock, patches

#: those that ask for a checkpoint, and Ctrl-C, which does not; the first in this list counts first
SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
_IMPATIENT = 2.0  # seconds: torchrun and a terminal send the same Ctrl-C twice, people wait longer
received: list[int] = []  # by this process, the first one first
_handled: dict[int, Any] = {}  # signals that had no handler of the user's, and what they had


# what was received --------------------------------------------------------------------------------


def _receive(spawns: bool) -> Callable[[int, object], None]:
    def receive(number: int, frame: object) -> None:
        received.append(number)
        for child in multiprocessing.active_children() if spawns else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid or 0, number)

    return receive


def _handle(numbers: tuple[signal.Signals, ...], receive: Callable[[int, Any], None]) -> None:
    """Takes signals for which nobody has a handler, or a training before in this process."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in numbers:
        stock = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        if number in _handled or signal.getsignal(number) == stock:
            _handled[number] = stock
            signal.signal(number, receive)


def interrupted(where: str) -> int:
    """Says in a line on standard error where Ctrl-C came; gives the exit status."""
    after_bar = "\n" if sys.stderr is not None and sys.stderr.isatty() else ""
    with contextlib.suppress(OSError):  # not by print: a signal may come while something is printed
        os.write(2, f"{after_bar}Ctrl-C: {where}\n".encode())
    return 128 + signal.SIGINT


def was_interrupted() -> bool:
    """Whether Ctrl-C has asked the training of this process to end."""
    return signal.SIGINT in received


def end_on_interrupt(cfg: Any) -> None:
    """Lets Ctrl-C end the training that begins now: at once, or, of several processes, together.

    A process that leaves alone leaves the others waiting for it. So these end behind the update at
    hand, and where Ctrl-C is pressed again at once.
    """
    several = cfg.distributed_training.distributed_world_size > 1
    first: list[float] = []

    def interrupt(number: int, frame: object) -> None:
        received.append(number)
        first.append(time.monotonic())
        together = several and torch.distributed.is_initialized()
        if together and first[-1] - first[0] < _IMPATIENT:
            return
        raise SystemExit(interrupted(_way_on(cfg.checkpoint)))

    _handle((signal.SIGINT,), interrupt)


def _way_on(cfg: Any) -> str:
    default = os.path.join(cfg.save_dir, "checkpoint_last.pt")
    start = default if cfg.restore_file == "checkpoint_last.pt" else cfg.restore_file
    if os.path.isfile(start):
        return f"the training ends; the same command goes on from {start}"
    return f"the training ends; there is no {start} yet, so the same command begins anew"


# processes that fairseq spawns --------------------------------------------------------------------


@contextlib.contextmanager
def watched(spawns: bool) -> Iterator[None]:
    """A training runs inside, in processes that fairseq spawns or not, whose status is ours."""
    try:
        if spawns:
            _handle(SIGNALS, _receive(spawns))
        yield
        if spawns and was_interrupted():  # before the processes could say so
            raise SystemExit(interrupted("the training had not begun"))
    except torch.multiprocessing.ProcessExitedException as error:
        if error.exit_code not in {128 + number for number in received}:
            raise
        raise SystemExit(error.exit_code) from None
    finally:
        for number, stock in _handled.items():
            signal.signal(number, stock)
        _handled.clear()
        received.clear()


def asked_by(trainer: Any) -> int:
    """The signal that any process has received, 0 for none."""
    if trainer.data_parallel_world_size > 1:
        numbers = getattr(trainer, "told", [])
    else:
        numbers = [number for number in SIGNALS if number in received]
    return int(numbers[0]) if numbers else 0


# how the training ends ----------------------------------------------------------------------------


def save_on_signals(program: ModuleType) -> None:
    """Let the training of ``program`` (fairseq_cli.train) that begins now save and end when asked.

    Clusters ask by SIGTERM or SIGUSR1, some time before they kill a job; fairseq handles neither.
    Processes that load data get the signals too: they end when the training says so.
    """
    _handle(SIGNALS[:2], _receive(False))
    if hasattr(program.validate_and_save, "__wrapped__"):
        return
    os.register_at_fork(after_in_child=_leave_signals_to_the_training)

    @patches(program, "validate_and_save")
    def validate_and_save(
        stock: Stock, cfg: Any, trainer: Any, task: Any, epoch_itr: Any, *more: Any, **named: Any
    ) -> tuple[list[float | None], bool]:  # behind every update; after a signal the last one
        number = asked_by(trainer)
        if number == signal.SIGINT:
            if trainer.is_data_parallel_master:
                interrupted(_way_on(cfg.checkpoint))
            raise SystemExit(128 + number)
        if number:  # a validation may take longer than the cluster waits
            cfg.checkpoint.no_last_checkpoints = False
            checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, epoch_itr, None)
        losses, should_stop = stock(cfg, trainer, task, epoch_itr, *more, **named)
        if number and not should_stop:
            if trainer.is_data_parallel_master:
                name, updates = signal.Signals(number).name, trainer.get_num_updates()
                sys.stderr.write(f"{name}: the training ends after {updates} updates\n")
            raise SystemExit(128 + number)
        return losses, should_stop


def _leave_signals_to_the_training() -> None:
    def end_when_told() -> None:
        while signal.sigwaitinfo({signal.SIGTERM}).si_pid != os.getppid():
            pass
        os._exit(0)

    for number in _handled:
        signal.signal(number, signal.SIG_IGN if number != signal.SIGTERM else signal.SIG_DFL)
    if signal.SIGTERM in _handled:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=end_when_told, daemon=True).start()
