"""How trainings are started, and begin or resume."""

import contextlib
import contextvars
import ctypes
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fairseq import checkpoint_utils
from fairseq.distributed import utils
from fairseq.file_io import PathManager
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.optim.adafactor import Adafactor
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, OmegaConf, open_dict

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import program_modules, running_command
from ..io.text_files import lacking
from .checkpoints import wrap_checkpoint_errors
from .contents import keep_lengths
from .paths import make_absolute, require_subwords
from .progress import begin_course, tell_progress
from .signals import end_on_interrupt, save_on_signals, watched

_TORCHRUN = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
_LAST = "checkpoint_last"
_KEPT = {-4: 0, -1: -1, -2: 2**26}  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD of malloc.h
#: what else may refuse a training's settings, by a UserError
CHECKS: list[Callable[[DictConfig], None]] = []
#: optimizers of fairseq's that step a vector of all parameters as they step each
_FLAT = {"adadelta", "adam", "adamax", "cpu_adam", "nag", "sgd"}
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
    """Start a training's processes, for which fairseq's settings are not enough.

    Fault: ``--bf16`` switches ``--tpu`` on. hydra calls fairseq's own for its first job, which
    imports this package in ``main``: what that can wait for stands in :func:`settle`.
    """
    code = getattr(main, "__code__", None)
    if code is None or Path(code.co_filename).parts[-2:] != ("fairseq_cli", "train.py"):
        return stock(cfg, main, **kwargs)
    settle_in_main()
    if cfg.common.bf16 and utils.xm is None:
        for section in map(cfg.get, cfg):
            if getattr(section, "tpu", None) is not None:
                section.tpu = False
    place = cfg.distributed_training
    _launch(place)
    with watched(place.distributed_init_method is not None and not place.distributed_no_spawn):
        stock(cfg, main, **kwargs)


def settle_in_main() -> None:
    """Let ``main`` of fairseq_cli.train, where it is loaded, complete the settings by ours too.

    It calls ``add_defaults`` behind the import of this package: in every process, by every command.
    """
    for name, replacement in (("train", _add_defaults), ("hydra_train", _add_known_defaults)):
        for program in program_modules(name):
            if not hasattr(program.add_defaults, "__wrapped__"):
                patches(program, "add_defaults")(replacement)


def _add_known_defaults(stock: Stock, cfg: DictConfig) -> None:
    """fairseq's, to which options without a value that only another encoder has are a mistake."""
    encoder = cfg.get("bpe")
    kind = REGISTRIES["bpe"]["dataclass_registry"].get(getattr(encoder, "_name", None))
    if kind is not None and OmegaConf.is_dict(encoder):
        known = {field.name for field in dataclasses.fields(kind)}
        with open_dict(encoder):
            for name in set(encoder) - known:
                if OmegaConf.is_missing(encoder, name) or encoder[name] is None:
                    del encoder[name]
    stock(cfg)


def _add_defaults(stock: Stock, cfg: DictConfig) -> None:
    _add_known_defaults(stock, cfg)
    end_on_interrupt(cfg)
    settle(cfg)
    keep_memory()


def settle(cfg: DictConfig) -> None:
    """Complete a training's settings before fairseq makes anything of them, and keeps them.

    Faults: a relative path of the data breaks loading from any other folder, and hydra has changed
    the folder before. A model gets a copy of its settings: what it finds out (a backbone's sizes)
    its class may write into them by a ``settle(cfg.model)``. ``--fp16`` makes one vector of all
    parameters, which few optimizers can step.

    Raises:
        UserError: an option that loses data, a name that hydra does not know, or a process that
            torchrun has started and that would train alone.
    """
    for check in CHECKS:
        check(cfg)
    if cfg.checkpoint.write_checkpoints_asynchronously:
        raise UserError("--write-checkpoints-asynchronously tears checkpoints; leave it out")
    task: Any = TASK_REGISTRY.get(getattr(cfg.task, "_name", None))
    ours = task is not None and task.__module__.startswith(__name__.split(".")[0])
    if cfg.dataset.combine_valid_subsets and ours:
        raise UserError("--combine-valid-subsets: give --valid-subset valid,valid1 instead")
    place = cfg.distributed_training
    if all(name in os.environ for name in _TORCHRUN) and place.distributed_world_size == 1:
        if int(os.environ["WORLD_SIZE"]) > 1:
            raise UserError(
                f"each of {os.environ['WORLD_SIZE']} processes would train alone; hydra has to be "
                "told of them: see examples/guides/processes.md"
            )
    make_absolute(cfg)
    _settle_precision(cfg)
    if OmegaConf.is_missing(cfg, "model") or cfg.model is None:
        return
    named = getattr(cfg.model, "_name", None)
    own = ARCH_MODEL_NAME_REGISTRY.get(named, named)
    if own != named and running_command() == "hydra-train":
        raise UserError(
            f"model._name={named}: hydra knows no sizes by name; give model._name={own}"
        )
    kind = _model_class(cfg.model)
    if hasattr(kind, "settle"):
        kind.settle(cfg.model)


def _settle_precision(cfg: DictConfig) -> None:
    common, name = cfg.common, getattr(cfg.optimizer, "_name", None)
    if not common.fp16:
        return
    if not common.memory_efficient_fp16 and (common.cpu or not torch.cuda.is_available()):
        raise UserError("--fp16 is for a GPU; on a CPU give --bf16, or nothing")
    if name not in _FLAT:
        common.fp16_no_flatten_grads = True


settle_in_main()


# how it begins ------------------------------------------------------------------------------------


def _require_start(cfg: DictConfig) -> None:
    """Fault: what is no file is taken for "no checkpoint yet", as a last one of this training is.

    Raises:
        UserError: what the training is to begin with does not exist, or is a folder.
    """
    restored = cfg.restore_file
    folder, name = os.path.split(restored)
    own = os.path.realpath(folder or cfg.save_dir) == os.path.realpath(cfg.save_dir)
    if own and name.startswith(_LAST) and not os.path.isdir(restored):
        restored = None
    named = {"--restore-file": restored, "--finetune-from-model": cfg.finetune_from_model}
    named["--continue-once"] = getattr(cfg, "continue_once", None)
    for flag, path in named.items():
        if path and not PathManager.isfile(path):
            raise UserError(f"{flag} {path} {lacking(path) or 'is no file'}; name a checkpoint")


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
def load_checkpoint(stock: Stock, cfg: DictConfig, trainer: Any, **options: object) -> Any:
    """Prepare a training where it looks for a checkpoint to resume from."""
    if not trainer.checkpoint_suffix:  # of a shard, whose name fairseq completes
        _require_start(cfg)
    require_subwords(trainer.cfg)
    # the best of a training before in this process would be this one's
    vars(checkpoint_utils.save_checkpoint).pop("best", None)
    for program in program_modules("train"):
        save_on_signals(program)
        tell_progress(program)
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
    if hasattr(trainer.lr_scheduler, "own_seconds"):  # ends the training by its own clock
        trainer.lr_scheduler.begin_with(trainer.data_parallel_world_size)
        trainer._local_cumulative_training_time = lambda: trainer.lr_scheduler.own_seconds()
        trainer.cumulative_training_time = lambda: trainer.lr_scheduler.seconds
        trainer.lr_step_update()
    spent = _spent(trainer, found[1])
    if spent is not None:
        trainer.cfg.optimization.max_epoch = -1  # fault: it looks behind an update, after one more
    begin_course(trainer, spent)
    return found


def _spent(trainer: Any, epoch_itr: Any) -> str | None:
    """Which limit a training has reached before it begins."""
    limits, updates = trainer.cfg.optimization, trainer.get_num_updates()
    hours = trainer.cumulative_training_time() / 3600
    if 0 < limits.max_update <= updates:
        return f"{updates} updates are made, and --max-update is {limits.max_update}; give more"
    if 0 < limits.stop_time_hours < hours:
        budget = f"the {limits.stop_time_hours:g} hours of --stop-time-hours are used up"
        return f"{budget} after {updates} updates; give more of them to go on"
    epochs = getattr(epoch_itr, "next_epoch_idx", 0) - 1
    if 0 < limits.max_epoch <= epochs:
        return f"{epochs} epochs are made, and --max-epoch is {limits.max_epoch}; give more"
    return None


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
