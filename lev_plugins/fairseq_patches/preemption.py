"""A training that a signal asks to end saves a checkpoint first.

Fault: clusters end a job by SIGTERM or SIGUSR1, some time before they kill it. fairseq handles
neither, and all since the last save is lost.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from ..io.patching import Stock, patches

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
_received: list[int] = []  # by this process, the first one first
_handled: list[signal.Signals] = []  # those that had no handler of the user's


def _handle(spawns: bool = False) -> None:
    def receive(number: int, frame: object) -> None:
        _received.append(number)
        for child in multiprocessing.active_children() if spawns else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid or 0, number)

    if threading.current_thread() is threading.main_thread() and not _handled:
        _handled.extend(one for one in SIGNALS if signal.getsignal(one) == signal.SIG_DFL)
        for one in _handled:
            signal.signal(one, receive)


@contextlib.contextmanager
def watched(spawns: bool) -> Iterator[None]:
    """A training runs inside, in processes that fairseq spawns or not, whose status is ours."""
    try:
        if spawns:
            _handle(spawns)
        yield
    except torch.multiprocessing.ProcessExitedException as error:
        if error.exit_code not in {128 + number for number in _received}:
            raise
        raise SystemExit(error.exit_code) from None
    finally:
        for one in _handled:
            signal.signal(one, signal.SIG_DFL)
        _handled.clear()
        _received.clear()


def save_on_signals(program: ModuleType) -> None:
    """Let the training of ``program`` (fairseq_cli.train) that begins now end when it is asked to.

    Processes that load data get the signals of the job as well: they end when the training says so.
    """
    from fairseq import checkpoint_utils
    from fairseq.distributed import utils

    _handle()
    if hasattr(program.validate_and_save, "__wrapped__"):
        return
    os.register_at_fork(after_in_child=_leave_signals_to_the_training)

    @patches(program, "validate_and_save")
    def validate_and_save(
        stock: Stock, cfg: Any, trainer: Any, task: Any, epoch_itr: Any, *more: Any, **named: Any
    ) -> tuple[list[float | None], bool]:
        """fairseq's, behind every update; where a signal has come, it is the last one."""
        number = _received[0] if _received else 0
        if torch.distributed.is_initialized():  # what any process has received
            told = torch.tensor([number], device=trainer.device)
            number = int(utils.all_reduce(told, utils.get_global_group(), op="max"))
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

    for one in _handled:
        signal.signal(one, signal.SIG_IGN if one != signal.SIGTERM else signal.SIG_DFL)
    if signal.SIGTERM in _handled:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=end_when_told, daemon=True).start()
