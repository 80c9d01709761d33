"""How trainings are started, begin or resume, and end when a signal asks them to."""

import contextlib
import contextvars
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from fairseq import checkpoint_utils
from fairseq.distributed import utils
from fairseq.file_io import PathManager
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.optim.adafactor import Adafactor
from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, OmegaConf

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import program_modules, running_command
from .checkpoints import wrap_checkpoint_errors
from .contents import keep_lengths

_TORCHRUN = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
_LAST = "checkpoint_last"
_KEPT = {-4: 0, -1: -1, -2: 2**26}  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD of malloc.h
SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
_received: list[int] = []  # by this process, the first one first
_handled: list[signal.Signals] = []  # those that had no handler of the user's
_beginning: contextvars.ContextVar[Any] = contextvars.ContextVar("beginning", default=None)


# how it is started --------------------------------------------------------------------------------


def keep_memory() -> None:
    """Let glibc keep what an update frees for the next one, which takes the same again.

    By itself it returns blocks above 32 megabytes, such as a batch's logits, and the kernel clears
    their pages anew: a quarter of a translation model's training.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        for parameter, value in _KEPT.items():
            ctypes.CDLL(None).mallopt(parameter, value)


def _launch(place: Any) -> None:
    """Complete the settings of a training in several processes, as fairseq does it.

    Faults: on a CPU it divides a process's rank by the number of GPUs; and the processes that
    torchrun has started train each for itself, unless they are told how many there are.

    Raises:
        UserError: several processes on a CPU that nobody has started.
    """
    gpus, started = torch.cuda.device_count(), "SLURM_JOB_ID" in os.environ
    if all(name in os.environ for name in _TORCHRUN):
        place.distributed_world_size = int(os.environ["WORLD_SIZE"])
        if place.distributed_world_size > 1 and not gpus:
            place.distributed_init_method, place.distributed_no_spawn = "env://", True
            place.distributed_rank, place.device_id = int(os.environ["RANK"]), 0
    elif place.distributed_world_size > 1 and not (gpus or started or place.distributed_no_spawn):
        raise UserError(
            f"--distributed-world-size {place.distributed_world_size}: on a CPU torchrun starts "
            "them: torchrun --nproc_per_node N $(which fairseq-train) … --cpu "
            "--distributed-backend gloo --ddp-backend legacy_ddp"
        )
    utils.infer_init_method(place)


@patches(utils, "call_main")
def call_main(stock: Stock, cfg: DictConfig, main: Callable[..., object], **kwargs: object) -> None:
    """Complete a training's settings before fairseq keeps them and starts its processes.

    Faults: a relative path of the data breaks loading from any other folder. A model gets a copy
    of its settings: what it finds out (a backbone's sizes) its class may write into them by a
    ``settle(cfg.model)``. ``--bf16`` switches ``--tpu`` on.
    """
    code = getattr(main, "__code__", None)
    if code is None or Path(code.co_filename).parts[-2:] != ("fairseq_cli", "train.py"):
        return stock(cfg, main, **kwargs)
    if cfg.checkpoint.write_checkpoints_asynchronously:
        raise UserError("--write-checkpoints-asynchronously tears checkpoints; leave it out")
    data = getattr(cfg.task, "data", None)
    if isinstance(data, str) and "://" not in data:
        there = (os.path.abspath(p) if os.path.exists(p) else p for p in data.split(os.pathsep))
        cfg.task.data = os.pathsep.join(there)
    task: Any = TASK_REGISTRY.get(cfg.task._name)
    if cfg.dataset.combine_valid_subsets and task.__module__.startswith(__name__.split(".")[0]):
        raise UserError("--combine-valid-subsets: give --valid-subset valid,valid1 instead")
    kind: Any = None if OmegaConf.is_missing(cfg, "model") else _model_class(cfg.model)
    if hasattr(kind, "settle"):
        kind.settle(cfg.model)
    if cfg.common.bf16 and utils.xm is None:
        for section in map(cfg.get, cfg):
            if getattr(section, "tpu", None) is not None:
                section.tpu = False
    place = cfg.distributed_training
    _launch(place)
    keep_memory()
    with watched(place.distributed_init_method is not None and not place.distributed_no_spawn):
        stock(cfg, main, **kwargs)


# how it begins ------------------------------------------------------------------------------------


def _require_start(cfg: DictConfig) -> None:
    """Fault: what is no file is taken for "no checkpoint yet", as ``checkpoint_last.pt`` may be."""
    named = {"--restore-file": cfg.restore_file, "--finetune-from-model": cfg.finetune_from_model}
    for flag, path in named.items():
        last = os.path.basename(path or _LAST).startswith(_LAST) and not os.path.isdir(path or "")
        if not last and not PathManager.isfile(path):
            raise UserError(f"{flag} {path}: is no file; name a checkpoint")


def _model_class(cfg: Any) -> Any:
    """The class of a model by its settings; None where there is none."""
    return ARCH_MODEL_REGISTRY.get(getattr(cfg, "_name", None) or getattr(cfg, "arch", None))


def _look_at(trainer: Any, path: str, state: dict[str, Any]) -> None:
    """Let model and task look at the checkpoint that a training begins with.

    Faults: options of the command that no parameter shows change a resumed training in silence, and
    what a task keeps in a checkpoint fairseq's trainer does not give back to it.

    A model's class may have a ``check_resumed(cfg, stored, path)``, and the model a
    ``begin_from(stored, state_dict, path)`` instead for ``--finetune-from-model``; a task a
    ``check_resumed(stored, path)``, and a ``begin_from(model, state, path, finetuned)``.
    """
    kind, task = _model_class(trainer.cfg.model), trainer.task
    finetuned = path == trainer.cfg.checkpoint.finetune_from_model
    settings = state.get("cfg") or {}
    stored = settings.get("model")
    if stored is not None and finetuned and hasattr(kind, "begin_from"):
        trainer.get_model().begin_from(stored, state["model"], path)
    elif stored is not None and not finetuned and hasattr(kind, "check_resumed"):
        kind.check_resumed(trainer.cfg.model, stored, path)
    rotary = getattr(stored, "rotary_positions", False) if finetuned else False
    if rotary and not getattr(trainer.cfg.model, "rotary_positions", True):
        raise UserError(f"{path}: was trained with --rotary-positions; give it here too")
    if hasattr(task, "begin_from"):
        task.begin_from(trainer.get_model(), state, path, finetuned)
    elif isinstance(task, TranslationTask) and isinstance(state.get("task_state"), dict):
        task.load_state_dict(state["task_state"])
    if not finetuned and hasattr(task, "check_resumed"):
        task.check_resumed(settings.get("task"), path)


@patches(checkpoint_utils, "load_checkpoint_to_cpu")
def load_checkpoint_to_cpu(stock: Stock, path: str, *more: object, **named: object) -> Any:
    """fairseq's; a training that begins with it has a look."""
    state = stock(path, *more, **named)
    if (trainer := _beginning.get()) is not None:
        _look_at(trainer, path, state)
    return state


@patches(checkpoint_utils, "load_checkpoint")
def load_checkpoint(stock: Stock, cfg: DictConfig, trainer: Any, **options: object) -> object:
    """Prepare a training where it looks for a checkpoint to resume from.

    hydra's first job and the processes that fairseq spawns pass no function of ours before.
    """
    own = ARCH_MODEL_NAME_REGISTRY.get(name := getattr(trainer.cfg.model, "_name", None), name)
    if own != name and running_command() == "hydra-train":
        raise UserError(f"model._name={name}: hydra knows no sizes by name; give model._name={own}")
    if not trainer.checkpoint_suffix:  # of a shard, whose name fairseq completes
        _require_start(cfg)
    # the best of a training before in this process would be this one's
    vars(checkpoint_utils.save_checkpoint).pop("best", None)
    for program in program_modules("train"):
        save_on_signals(program)
    # an optimizer is told of parameters only, not of the layers that they belong to
    optimizer = OPTIMIZER_REGISTRY.get(trainer.cfg.optimizer._name)
    if hasattr(optimizer, "prepare_model"):
        optimizer.prepare_model(trainer.model)

    @patches(trainer, "load_checkpoint")
    def load(stock: Stock, filename: str, *more: object, **named: object) -> object:
        left = _beginning.set(trainer)
        try:
            with wrap_checkpoint_errors(filename):  # it may not fit
                return stock(filename, *more, **named)
        finally:
            _beginning.reset(left)

    found = stock(cfg, trainer, **options)
    keep_lengths(trainer)
    if hasattr(trainer.lr_scheduler, "seconds"):  # ends the training by its own clock
        trainer.cumulative_training_time = lambda: trainer.lr_scheduler.seconds
    limits, hours = trainer.cfg.optimization, trainer.cumulative_training_time() / 3600
    if 0 < limits.max_update <= trainer.get_num_updates() or 0 < limits.stop_time_hours < hours:
        limits.max_epoch = -1  # fault: it looks behind an update only, and makes one more
    return found


@patches(Adafactor, "step")
def step(stock: Stock, self: Any, closure: Any = None) -> object:
    """fairseq's step, with a group for each tensor.

    Fault: it leaves the rate of a tensor, scaled by its size, in the group for the next tensor.
    """
    groups = self.param_groups
    self.param_groups = [{**group, "params": [one]} for group in groups for one in group["params"]]
    try:
        return stock(self, closure)
    finally:
        self.param_groups = groups


# how it is asked to end ---------------------------------------------------------------------------


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
    """Let the training of ``program`` (fairseq_cli.train) that begins now save and end when asked.

    Clusters ask by SIGTERM or SIGUSR1, some time before they kill a job; fairseq handles neither.
    Processes that load data get the signals too: they end when the training says so.
    """
    _handle()
    if hasattr(program.validate_and_save, "__wrapped__"):
        return
    os.register_at_fork(after_in_child=_leave_signals_to_the_training)

    @patches(program, "validate_and_save")
    def validate_and_save(
        stock: Stock, cfg: Any, trainer: Any, task: Any, epoch_itr: Any, *more: Any, **named: Any
    ) -> tuple[list[float | None], bool]:  # behind every update; after a signal the last one
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
