"""Ends a training with a checkpoint after SIGTERM, SIGUSR1 or Ctrl-C; fairseq handles no signal.

A handler notes the signal. After the current update the training saves and ends; of several
processes all do, if one has got a signal.
"""

import contextlib
import os
import signal
import sys
import threading
from typing import Any

import torch
from fairseq import checkpoint_utils
from fairseq.data.iterators import CountingIterator
from fairseq.trainer import Trainer

from lev_runtime.errors import counted
from lev_runtime.io.commands import INTERRUPTED

from ..io.patching import Stock, patches
from .hooks import hooks_of

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
received: list[int] = []  # by this process, the first one first
_SUMS_OF_UPDATE = 3  # size, batches out of memory, time


def _note(number: int, frame: object) -> None:
    is_second = number in received
    received.append(number)
    if number != signal.SIGINT:
        return
    if is_second and not torch.distributed.is_initialized():  # torchrun sends the same one twice
        raise SystemExit(INTERRUPTED)
    if not is_second and os.environ.get("RANK", "0") == "0":
        with contextlib.suppress(OSError):  # not by print: a signal may come while something prints
            os.write(2, b"\nCtrl-C: the training saves after this update and ends\n")


def listen() -> None:
    """Notes signals from now on, but those for which the user has a handler."""
    received.clear()
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, _note)


def stop_listening() -> None:
    """Gives signals their usual meaning again."""
    for number in SIGNALS:
        if signal.getsignal(number) is _note:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)


def _ignore_signals(worker: int) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@patches(CountingIterator, "__init__")
def count(stock: Stock, self: CountingIterator, iterable: Any, *more: Any, **options: Any) -> None:
    """Makes processes that load data ignore signals, which a cluster sends to them too.

    What ends them: :func:`.small.end_readers`.
    """
    loader = getattr(iterable, "_iterable", iterable)  # inside a buffer
    if isinstance(loader, torch.utils.data.DataLoader):
        loader.worker_init_fn = _ignore_signals
    stock(self, iterable, *more, **options)


def asked_by(trainer: Any) -> int:
    """Returns the signal after which the training has to end, 0 for none."""
    has_to_end = bool(received)
    if trainer.data_parallel_world_size > 1:
        has_to_end = getattr(trainer, "agreed_to_end", False)
    return (received or [signal.SIGTERM])[0] if has_to_end else 0


def validate_and_save(
    stock: Stock, cfg: Any, trainer: Any, task: Any, epoch_itr: Any, *more: Any, **options: Any
) -> tuple[list[float | None], bool]:
    """Saves after each update if a signal has come, before a validation that may be due."""
    number = asked_by(trainer)
    if number:
        cfg.checkpoint.no_last_checkpoints = False
        checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, epoch_itr, None)
    losses, should_stop = stock(cfg, trainer, task, epoch_itr, *more, **options)
    if number and not should_stop:
        if trainer.is_data_parallel_master:
            name, done = signal.Signals(number).name, counted(trainer.get_num_updates(), "update")
            sys.stderr.write(
                f"{name}: the training ends after {done}; the same command resumes it\n"
            )
        raise SystemExit(128 + number)
    return losses, should_stop


# what processes agree on --------------------------------------------------------------------------


@patches(Trainer, "_aggregate_logging_outputs")
def add_signals(
    stock: Stock, self: Any, outputs: Any, *sums: Any, ignore: bool = False
) -> tuple[Any, list[Any]]:
    """Sums up how many processes have got a signal, with the sums that fairseq makes.

    The time is a tensor on the device. Comparing it with ``--stop-time-hours`` would make the host
    wait for all that the device has to do: both are read later.
    """
    outputs, totals = stock(self, outputs, *sums, float(bool(received)), ignore=ignore)
    if len(sums) == _SUMS_OF_UPDATE:
        self.unread_agreement = totals[-2:]
    return outputs, list(totals[:-1])


@patches(Trainer, "clip_grad_norm")
def read_agreement(stock: Stock, self: Any, *arguments: Any) -> Any:
    """Reads the mean time and the signals, where the host waits for the device anyway."""
    unread, self.unread_agreement = getattr(self, "unread_agreement", None), None
    if unread is not None:
        values = torch.stack(unread).tolist() if torch.is_tensor(unread[0]) else unread
        self._cumulative_training_time = values[0] / self.data_parallel_world_size
        self.agreed_to_end = values[1] > 0
        hooks_of(self.lr_scheduler).agree(self._cumulative_training_time)
    return stock(self, *arguments)
