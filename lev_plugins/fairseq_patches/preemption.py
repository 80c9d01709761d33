"""A training that a signal asks to end saves a checkpoint first.

Fault: clusters end a job by SIGTERM or SIGUSR1, some time before they kill it. fairseq handles
neither, and all since the last save is lost.
"""

import contextlib
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import torch

from ..io.patching import Stock, patches

if TYPE_CHECKING:
    from fairseq.data import EpochBatchIterator
    from fairseq.tasks import FairseqTask
    from fairseq.trainer import Trainer
    from omegaconf import DictConfig

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
_TOGETHER = 3.0  # seconds; torchrun passes on a signal that its processes may have got already

#: the losses of a validation, and whether the training should stop
Losses = tuple[list[float | None], bool]


class _Place(NamedTuple):
    """Behind an update: what a checkpoint is made of."""

    cfg: "DictConfig"
    trainer: "Trainer"
    epochs: "EpochBatchIterator"


class Watch:
    """The signals of this process: which are watched, and which has come.

    handled: those that had no handler of the user's when the training began.
    number: the signal that has come; 0 without one. saved: whether it has led to a checkpoint.
    place: the update that is being validated and saved.
    """

    def __init__(self) -> None:
        self.handled: list[signal.Signals] = []
        self.number, self.since = 0, 0.0
        self.saved = False
        self.place: _Place | None = None

    def begin(self, tpu: bool) -> None:
        """A training begins in this process."""
        self.end()
        self.number, self.saved, self.place = 0, False, None
        if threading.current_thread() is threading.main_thread() and not tpu:
            self.handled = [one for one in SIGNALS if signal.getsignal(one) == signal.SIG_DFL]

    def install(self) -> None:
        """From now on there is something to save."""
        for one in self.handled:
            signal.signal(one, self.receive)

    def end(self) -> None:
        """Signals act as they did before the training; one that was set since then stays."""
        for one in self.handled:
            if signal.getsignal(one) == self.receive:
                signal.signal(one, signal.SIG_DFL)
        self.handled = []

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Note the first signal; one that comes later, and not together with it, ends at once."""
        if not self.number:
            self.number, self.since = number, time.monotonic()
        elif time.monotonic() - self.since > _TOGETHER:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


WATCH = Watch()


def _agreed(trainer: "Trainer") -> int:
    """The signal that this process or any other has received; 0 if none has.

    All processes of a training have to ask, and continue together.
    """
    if not torch.distributed.is_initialized():
        return WATCH.number
    from fairseq.distributed import utils

    number = torch.tensor([WATCH.number], device=trainer.device)
    return int(utils.all_reduce(number, utils.get_global_group(), op="max"))


def _save(place: _Place, loss: float | None = None) -> None:
    """Write ``checkpoint_last.pt`` as fairseq does, and no other."""
    from fairseq import checkpoint_utils

    cfg, trainer, epochs = place
    WATCH.saved = True
    if cfg.checkpoint.no_save:
        return
    trainer.consolidate_optimizer()
    extra = {"train_iterator": epochs.state_dict(), "val_loss": loss}
    if hasattr(trainer.task, "get_checkpoint_dict"):
        extra |= trainer.task.get_checkpoint_dict()
    if hasattr(checkpoint_utils.save_checkpoint, "best"):
        extra["best"] = checkpoint_utils.save_checkpoint.best
    if trainer.should_save_checkpoint_on_current_rank:
        trainer.save_checkpoint(_path(place), extra)
    elif trainer.always_call_state_dict_during_save_checkpoint:
        trainer.state_dict()


def _path(place: _Place) -> str:
    name = f"checkpoint_last{place.trainer.checkpoint_suffix}.pt"
    return os.path.abspath(os.path.join(place.cfg.checkpoint.save_dir, name))


def _end(place: _Place) -> NoReturn:
    """End the training once all processes have come here, and the first has saved."""
    number = _agreed(place.trainer)
    if place.trainer.is_data_parallel_master:
        saved = f"{_path(place)} is saved, the same command resumes it"
        if place.cfg.checkpoint.no_save:
            saved = "nothing is saved (--no-save)"
        sys.stderr.write(
            f"{signal.Signals(number).name}: the training ends after "
            f"{place.trainer.get_num_updates()} updates; {saved}\n"
        )
    raise SystemExit(128 + number)


def _watch_updates(program: ModuleType) -> None:
    """Looks for a signal in ``validate_and_save``, which comes behind every update."""

    @patches(program, "validate_and_save")
    def validate_and_save(
        stock: Stock,
        cfg: "DictConfig",
        trainer: "Trainer",
        task: "FairseqTask",
        epoch_itr: "EpochBatchIterator",
        *more: object,
        **named: object,
    ) -> Losses:
        """fairseq's; where a signal has come, it is the last one.

        A checkpoint is written before a validation, which may take longer than the cluster waits,
        and once more with what the validation gave.
        """
        place = WATCH.place = _Place(cfg, trainer, epoch_itr)
        if _agreed(trainer):
            _save(place)
        try:
            losses, should_stop = stock(cfg, trainer, task, epoch_itr, *more, **named)
        finally:
            WATCH.place = None
        validated = losses[0] is not None
        if should_stop or not (WATCH.saved or (validated and _agreed(trainer))):
            return losses, should_stop
        if validated:
            _save(place, losses[0])
        _end(place)


def _watch_validations() -> None:
    """Looks for a signal in ``Trainer.valid_step``."""
    from fairseq.trainer import Trainer

    if hasattr(Trainer.valid_step, "watched"):
        return

    @patches(Trainer, "valid_step")
    def valid_step(stock: Stock, self: Trainer, sample: object, raise_oom: bool = False) -> object:
        """fairseq's; a signal that comes within a validation is not left to wait for its end."""
        place = WATCH.place
        # with raise_oom it is the second try of one process alone
        if place is not None and not WATCH.saved and not raise_oom and _agreed(self):
            _save(place)
        return stock(self, sample, raise_oom)

    vars(Trainer.valid_step)["watched"] = True
    os.register_at_fork(after_in_child=leave_signals_to_the_training)


def _watch_epochs(program: ModuleType) -> None:
    """Handles signals in ``train``, which is called for every epoch."""

    @patches(program, "train")
    def train(
        stock: Stock,
        cfg: "DictConfig",
        trainer: "Trainer",
        task: "FairseqTask",
        epoch_itr: "EpochBatchIterator",
    ) -> Losses:
        """fairseq's, with handlers up to the end of the last epoch."""
        WATCH.install()
        last = True
        try:
            losses, should_stop = stock(cfg, trainer, task, epoch_itr)
            most = cfg.optimization.max_epoch or math.inf
            last = should_stop or epoch_itr.next_epoch_idx > most
        finally:
            if last:
                WATCH.end()
        return losses, should_stop

    vars(train)["watched"] = True


def save_on_signals(program: ModuleType, tpu: bool) -> None:
    """Let the training that begins now save a checkpoint when a signal asks it to end.

    Args:
        program: ``fairseq_cli.train``, which trains.
        tpu: on TPUs nothing is done.
    """
    WATCH.begin(tpu)
    if not hasattr(program.train, "watched"):
        _watch_epochs(program)
        _watch_updates(program)
        _watch_validations()


def leave_signals_to_the_training() -> None:
    """In a process that loads data: end when the training says so, and not with its signal.

    A cluster sends signals to all processes of a job, and a training dies of the death of one that
    loads its data.
    """
    if not WATCH.handled or not hasattr(signal, "sigwaitinfo"):
        return
    for one in WATCH.handled:
        if one != signal.SIGTERM:
            signal.signal(one, signal.SIG_IGN)
    if signal.SIGTERM in WATCH.handled:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=_end_when_told, daemon=True).start()


def _end_when_told() -> None:
    while signal.sigwaitinfo({signal.SIGTERM}).si_pid != os.getppid():
        pass
    os._exit(0)


def stop_watching() -> None:
    """The training is over."""
    WATCH.end()


@contextlib.contextmanager
def pass_signals_on() -> Iterator[None]:
    """Inside, the processes that fairseq spawns get the signals of the one that waits for them.

    Raises:
        SystemExit: with their status, where they have ended for a signal.
    """
    passed: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        passed.append(128 + number)
        for child in multiprocessing.active_children():
            if child.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number)

    main = threading.current_thread() is threading.main_thread()
    handled = [one for one in SIGNALS if main and signal.getsignal(one) == signal.SIG_DFL]
    try:
        for one in handled:
            signal.signal(one, pass_on)
        yield
    except torch.multiprocessing.ProcessExitedException as error:
        if error.exit_code not in passed:
            raise
        raise SystemExit(error.exit_code) from None
    finally:
        for one in handled:
            signal.signal(one, signal.SIG_DFL)
