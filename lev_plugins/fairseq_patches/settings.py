"""A training's settings are completed, or refused, before fairseq makes anything of them.

Faults: a model gets a copy of its settings, so that what it finds out is not kept; options that
lose data, or that cannot work, are told late or never; ``--fp16`` makes one vector of all
parameters, which few optimizers can step.
"""

import dataclasses
import os
from argparse import Namespace
from typing import Any

import torch
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
from omegaconf import DictConfig, OmegaConf, open_dict

from lev_runtime.errors import UserError

from ..io.patching import Stock, patches
from ..io.program import program_modules, running_command
from ..options import require_ranges
from .gradient_sharing import require_backend
from .hooks import hooks_of, model_class
from .kept_paths import make_absolute
from .signals import end_on_interrupt

_TORCHRUN = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
#: optimizers of fairseq's that step a vector of all parameters as they step each
_FLAT = {"adadelta", "adam", "adamax", "cpu_adam", "nag", "sgd"}

#: of a training's sections, what they build by the name in them
_CLASSES = {"task": TASK_REGISTRY, "model": ARCH_MODEL_REGISTRY} | {
    section: REGISTRIES[section]["registry"]
    for section in ("criterion", "optimizer", "lr_scheduler")
}


def torchrun_processes() -> int:
    """How many processes torchrun has started; 0 where it has not."""
    return int(os.environ["WORLD_SIZE"]) if all(map(os.environ.get, _TORCHRUN)) else 0


def resolve_in_main() -> None:
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
    """``model._name`` may be an architecture, as ``--arch`` is: it sets what is left open, and the
    model's own name takes its place."""
    model = cfg.get("model")
    if not OmegaConf.is_dict(model):
        return
    architecture = model.get("_name")
    name = ARCH_MODEL_NAME_REGISTRY.get(architecture, architecture)
    if name != architecture:
        options = Namespace(**OmegaConf.to_container(model))
        ARCH_CONFIG_REGISTRY[architecture](options)
        cfg.model = {**vars(options), "_name": name}


def _add_defaults(stock: Stock, cfg: DictConfig) -> None:
    _add_known_defaults(stock, cfg)
    end_on_interrupt(cfg)
    resolve(cfg)


def resolve(cfg: DictConfig) -> None:
    """Complete a training's settings.

    Raises:
        UserError: an option that cannot work, or a process that torchrun has started and that
            would train alone.
    """
    require_backend(cfg)
    _require_options(cfg)
    for section, registry in _CLASSES.items():
        if OmegaConf.is_missing(cfg, section):
            continue
        component: Any = registry.get(getattr(cfg[section], "_name", None))
        require_ranges(cfg[section], getattr(component, "__dataclass", None))
        hooks_of(component).check_training(cfg)
    make_absolute(cfg)
    if cfg.common.fp16 and getattr(cfg.optimizer, "_name", None) not in _FLAT:
        cfg.common.fp16_no_flatten_grads = True
    if not OmegaConf.is_missing(cfg, "model") and cfg.model is not None:
        hooks_of(model_class(cfg.model)).resolve_config(cfg.model)


def _require_options(cfg: DictConfig) -> None:
    common = cfg.common
    if cfg.checkpoint.write_checkpoints_asynchronously:
        raise UserError(
            "--write-checkpoints-asynchronously can leave checkpoints half-written; leave it out"
        )
    task: Any = TASK_REGISTRY.get(getattr(cfg.task, "_name", None), object)
    is_ours = task.__module__.partition(".")[0] == __name__.partition(".")[0]
    if cfg.dataset.combine_valid_subsets and is_ours:
        raise UserError("--combine-valid-subsets: give --valid-subset valid,valid1 instead")
    processes = torchrun_processes()
    if processes > 1 and cfg.distributed_training.distributed_world_size == 1:
        raise UserError(
            f"each of {processes} processes would train alone; hydra has to be told of them: see "
            "examples/guides/processes.md"
        )
    on_cpu = common.cpu or not torch.cuda.is_available()
    if common.fp16 and not common.memory_efficient_fp16 and on_cpu:
        raise UserError("--fp16 needs a GPU; on a CPU use --bf16, or neither")


resolve_in_main()
