"""Starts trainings: settings are completed or refused, processes started, checkpoints looked at.

Faults: a model gets a copy of its settings, so that what it finds out is not kept; options that
lose data, or that cannot work, are refused late or never; ``--bf16`` means a TPU; on a CPU, and by
torchrun, processes are started wrongly or not at all; a start that does not exist is ignored, and
what a task keeps in a checkpoint is not given back to it.
"""

import contextvars
import dataclasses
import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fairseq import checkpoint_utils
from fairseq.distributed import utils
from fairseq.file_io import PathManager
from fairseq.models import (
    ARCH_CONFIG_REGISTRY,
    ARCH_MODEL_NAME_REGISTRY,
    ARCH_MODEL_REGISTRY,
    distributed_fairseq_model,
)
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, OmegaConf, open_dict
from torch import nn

from lev_runtime.errors import UserError, flag
from lev_runtime.io.text_files import lacking

from ..io.patching import Stock, patches
from ..io.program import program_modules, running_command
from ..options import require_ranges
from .checkpoint_files import make_absolute
from .checkpoints import model_differences, wrap_checkpoint_errors
from .hooks import Start, hooks_of, model_class
from .line_lengths import keep_lengths
from .progress import hide_model, watch
from .signals import listen, stop_listening, validate_and_save

_TORCHRUN = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
#: optimizers of fairseq's that step a vector of all parameters as they step each
_FLAT = {"adadelta", "adam", "adamax", "cpu_adam", "nag", "sgd"}
#: sections of a training's settings, and what they build by the name in them
_CLASSES = {"task": TASK_REGISTRY, "model": ARCH_MODEL_REGISTRY} | {
    section: REGISTRIES[section]["registry"]
    for section in ("criterion", "optimizer", "lr_scheduler")
}
_beginning: contextvars.ContextVar[Any] = contextvars.ContextVar("beginning", default=None)
#: called with the model of each training that begins, which lies on its device
PREPARATIONS: list[Callable[[Any], None]] = []


# settings -----------------------------------------------------------------------------------------


def resolve_in_main() -> None:
    """Makes ``main`` of fairseq_cli.train, if it is loaded, complete the settings by ours too.

    It calls ``add_defaults`` after the import of this package: in every process, by every command.
    """
    for name, replacement in (("train", _add_defaults), ("hydra_train", _add_known_defaults)):
        for program in program_modules(name):
            program.logger.addFilter(hide_model)
            if not hasattr(program.add_defaults, "__wrapped__"):
                patches(program, "add_defaults")(replacement)


def _add_known_defaults(stock: Stock, cfg: DictConfig) -> None:
    """Drops options without a value that only another encoder has, which fairseq refuses."""
    encoder = cfg.get("bpe")
    options = REGISTRIES["bpe"]["dataclass_registry"].get(getattr(encoder, "_name", None))
    if options is not None and OmegaConf.is_dict(encoder):
        known = {field.name for field in dataclasses.fields(options)}
        with open_dict(encoder):
            for name in set(encoder) - known:
                if OmegaConf.is_missing(encoder, name) or encoder[name] is None:
                    del encoder[name]
    if running_command() == "hydra-train":
        _set_named_sizes(cfg)
    stock(cfg)


def _set_named_sizes(cfg: DictConfig) -> None:
    """Takes an architecture in ``model._name`` as ``--arch`` is taken."""
    model = cfg.get("model")
    architecture = model.get("_name") if OmegaConf.is_dict(model) else None
    name = ARCH_MODEL_NAME_REGISTRY.get(architecture, architecture)
    if name != architecture:
        options = Namespace(**OmegaConf.to_container(model))
        ARCH_CONFIG_REGISTRY[architecture](options)
        cfg.model = {**vars(options), "_name": name}


def _add_defaults(stock: Stock, cfg: DictConfig) -> None:
    _add_known_defaults(stock, cfg)
    resolve(cfg)


def resolve(cfg: DictConfig) -> None:
    """Completes a training's settings.

    Raises:
        UserError: an option that cannot work, or a process that torchrun has started and that
            would train alone.
    """
    _require_options(cfg)
    make_absolute(cfg)
    for section, registry in _CLASSES.items():
        if OmegaConf.is_missing(cfg, section):
            continue
        component: Any = registry.get(getattr(cfg[section], "_name", None))
        require_ranges(cfg[section], getattr(component, "__dataclass", None))
        hooks_of(component).check_training(cfg)
    if cfg.common.fp16 and getattr(cfg.optimizer, "_name", None) not in _FLAT:
        cfg.common.fp16_no_flatten_grads = True
    if not OmegaConf.is_missing(cfg, "model") and cfg.model is not None:
        hooks_of(model_class(cfg.model)).resolve_config(cfg.model)


def _require_options(cfg: DictConfig) -> None:
    common, place = cfg.common, cfg.distributed_training
    task: Any = TASK_REGISTRY.get(getattr(cfg.task, "_name", None), object)
    is_ours = task.__module__.partition(".")[0] == __name__.partition(".")[0]
    on_cpu = common.cpu or not torch.cuda.is_available()
    is_alone = place.distributed_world_size == 1
    faults = {
        "--write-checkpoints-asynchronously can leave checkpoints half-written; leave it out": (
            cfg.checkpoint.write_checkpoints_asynchronously
        ),
        "--combine-valid-subsets: give --valid-subset valid,valid1 instead": (
            cfg.dataset.combine_valid_subsets and is_ours
        ),
        f"each of {torchrun_processes()} processes would train alone; hydra has to be told of "
        "them: see examples/guides/running.md": torchrun_processes() > 1 and is_alone,
        "--fp16 needs a GPU; on a CPU use --bf16, or neither": (
            common.fp16 and not common.memory_efficient_fp16 and on_cpu
        ),
        "--ddp-backend fully_sharded and slowmo and --zero-sharding os do not work with this "
        "plug-in; leave the option out: pytorch_ddp is the default": (
            place.ddp_backend in ("fully_sharded", "slowmo") or place.zero_sharding == "os"
        ),
    }
    for fault, is_there in faults.items():
        if is_there:
            raise UserError(fault)


# processes ----------------------------------------------------------------------------------------


def torchrun_processes() -> int:
    """Returns how many processes torchrun has started; 0 without it."""
    return int(os.environ["WORLD_SIZE"]) if all(map(os.environ.get, _TORCHRUN)) else 0


@patches(distributed_fairseq_model, "DistributedDataParallel")
def distributed_data_parallel(stock: Stock, module: nn.Module, **options: Any) -> Any:
    """Passes no device to torch on a CPU, where fairseq names a GPU."""
    if all(parameter.device.type == "cpu" for parameter in module.parameters()):
        options |= {"device_ids": None, "output_device": None}
    return stock(module=module, **options)


@patches(utils, "call_main")
def call_main(stock: Stock, cfg: DictConfig, main: Callable[..., object], **kwargs: object) -> None:
    """Starts a training's processes.

    hydra calls fairseq's own for its first job, which imports this package in ``main``: what can
    wait for that is done by :func:`resolve`.
    """
    code = getattr(main, "__code__", None)
    if code is None or Path(code.co_filename).parts[-2:] != ("fairseq_cli", "train.py"):
        return stock(cfg, main, **kwargs)
    resolve_in_main()
    if cfg.common.bf16 and utils.xm is None:
        for section in map(cfg.get, cfg):
            if getattr(section, "tpu", None) is not None:
                section.tpu = False
    _start_on_cpu(cfg.distributed_training, cfg.common.cpu)
    try:
        stock(cfg, main, **kwargs)
    finally:
        stop_listening()


def _start_on_cpu(place: Any, on_cpu: bool) -> None:
    """Completes the settings of several processes without a GPU; fairseq divides a rank by the
    number of GPUs.

    Raises:
        UserError: several processes that nobody has started, or a backend for GPUs.
    """
    processes = torchrun_processes()
    if processes:
        place.distributed_world_size = processes
    if torch.cuda.device_count() > 0 and not on_cpu:
        return
    if processes > 1 and place.distributed_backend == "nccl":
        raise UserError("--distributed-backend nccl needs GPUs; on a CPU give gloo")
    if torch.cuda.device_count() > 0:
        return
    if processes > 1:
        place.distributed_init_method, place.distributed_no_spawn = "env://", True
        place.distributed_rank, place.device_id = int(os.environ["RANK"]), 0
    is_started = processes or "SLURM_JOB_ID" in os.environ or place.distributed_no_spawn
    if place.distributed_world_size > 1 and not is_started:
        raise UserError(
            f"--distributed-world-size {place.distributed_world_size}: on a CPU torchrun starts "
            "them: torchrun --nproc_per_node N $(which fairseq-train) … --cpu "
            "--distributed-backend gloo --ddp-backend legacy_ddp"
        )


# checkpoints --------------------------------------------------------------------------------------


def _require_start(cfg: DictConfig) -> None:
    """Refuses a training if the checkpoint that it is to begin with does not exist."""
    folder, name = os.path.split(cfg.restore_file)
    in_own_folder = os.path.realpath(folder or cfg.save_dir) == os.path.realpath(cfg.save_dir)
    for option in ("restore_file", "finetune_from_model", "continue_once"):
        path = getattr(cfg, option, None)
        if option == "restore_file" and in_own_folder and name.startswith("checkpoint_last"):
            continue  # of this training, which may not have saved yet
        if path and not PathManager.isfile(path):
            reason = lacking(path) or "is not a file"
            raise UserError(f"{flag(option)} {path} {reason}; name a checkpoint")


def run_begin_hooks(trainer: Any, path: str, state: dict[str, Any]) -> None:
    """Lets model and task look at the checkpoint that a training begins with."""
    cfg, task, model = trainer.cfg, trainer.task, trainer.get_model()
    start = Start(path, state, model, finetuned=path == cfg.checkpoint.finetune_from_model)
    stored = state.get("cfg") or {}
    trainer.begun_with = stored.get("model")
    if stored.get("model") is not None:
        if not start.finetuned:
            hooks_of(model_class(cfg.model)).check_resumed(cfg.model, stored["model"], path)
        elif getattr(stored["model"], "rotary_positions", False):
            if not getattr(cfg.model, "rotary_positions", True):
                raise UserError(f"{path}: was trained with --rotary-positions; give it here too")
        hooks_of(model).begin_from(start)
    hooks_of(task).begin_from(start)
    if isinstance(task, TranslationTask) and isinstance(state.get("task_state"), dict):
        task.load_state_dict(state["task_state"])
    if not start.finetuned:
        hooks_of(task).check_resumed(getattr(task, "cfg", None), stored.get("task"), path)


@patches(checkpoint_utils, "load_checkpoint_to_cpu")
def load_checkpoint_to_cpu(stock: Stock, path: str, *more: object, **options: object) -> Any:
    """Lets the training that begins with a checkpoint look at it."""
    state = stock(path, *more, **options)
    if _beginning.get() is not None:
        run_begin_hooks(_beginning.get(), path, state)
    return state


@patches(checkpoint_utils, "load_checkpoint")
def load_checkpoint(stock: Stock, cfg: DictConfig, trainer: Any, **options: object) -> Any:
    """Prepares a training when it looks for a checkpoint to resume from."""
    if not trainer.checkpoint_suffix:  # of a shard, whose name fairseq completes
        _require_start(cfg)
    # the best of a training before in this process would be this one's
    vars(checkpoint_utils.save_checkpoint).pop("best", None)
    listen()
    for program in program_modules("train"):
        watch(program, trainer)
        if not hasattr(program.validate_and_save, "__wrapped__"):
            patches(program, "validate_and_save")(validate_and_save)
    optimizer = REGISTRIES["optimizer"]["registry"].get(trainer.cfg.optimizer._name)
    hooks_of(optimizer).prepare_model(trainer.model)
    for prepare in PREPARATIONS:
        prepare(trainer.model)

    def differences() -> str:
        return model_differences(trainer.cfg.model, getattr(trainer, "begun_with", None))

    @patches(trainer, "load_checkpoint")
    def load(stock: Stock, path: str, *more: object, **named: object) -> Any:
        token = _beginning.set(trainer)
        try:
            with wrap_checkpoint_errors(path, differences):
                return stock(path, *more, **named)
        finally:
            _beginning.reset(token)

    extra_state, epoch_itr = stock(cfg, trainer, **options)
    keep_lengths(trainer)
    hooks_of(trainer.lr_scheduler).begin_training(trainer)
    limits, seconds = trainer.cfg.optimization, trainer.cumulative_training_time()
    is_over = 0 < limits.max_update <= trainer.get_num_updates()
    if is_over or 0 < limits.stop_time_hours < seconds / 3600:
        limits.max_epoch = -1  # fairseq looks after one more update
    return extra_state, epoch_itr
