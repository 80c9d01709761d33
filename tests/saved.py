"""Checkpoints of models that nobody trained, saved as fairseq saves them, and what harms in one."""

import copy
import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from fairseq import checkpoint_utils, options, tasks
from fairseq.dataclass.configs import CheckpointConfig, OptimizationConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_MODEL_REGISTRY
from omegaconf import OmegaConf
from torch import nn

SIZES = (
    "--encoder-embed-dim 16 --encoder-ffn-embed-dim 16 --encoder-layers 1 "
    "--encoder-attention-heads 2 --decoder-layers 1 --dropout 0 "
    "--max-source-positions 40 --max-target-positions 40"
)
KINDS = {
    "editor": "--task translation_edit --arch levenshtein_editor_char --criterion edit_policy_loss",
    "stock": "--task translation --arch transformer --decoder-embed-dim 16 "
    "--decoder-ffn-embed-dim 16 --decoder-attention-heads 2",
    "gated": "--task translation --arch gated_transformer_char",
    "concat": "--task translation_concat --arch transformer_concat_char",
    "pbd": "--task translation --arch pbd_transformer_char",
}


def configuration(words: Sequence[str]) -> Any:
    """What fairseq-train makes of its command line, and saves."""
    args = options.parse_args_and_arch(options.get_training_parser(), list(words))
    return convert_namespace_to_omegaconf(args)


@cache
def parsed(data: Path, kind: str) -> Any:
    words = f"{data} {KINDS[kind]} --optimizer adam {SIZES} --source-lang src --target-lang tgt"
    return configuration(words.split())


@torch.no_grad()
def untrained(cfg: Any, task: Any, seed: int = 3) -> Any:
    """A model that was not trained and has opinions nevertheless."""
    torch.manual_seed(seed)
    model = task.build_model(cfg.model)
    for parameter in model.parameters():
        parameter.add_(0.3 * torch.randn(parameter.shape))
    return model


def save(path: Path, data: Path, kind: str, seed: int = 3) -> Path:
    """A checkpoint of a model that was not trained."""
    cfg = copy.deepcopy(parsed(data.parent / "bin", kind))
    cfg.task.data = str(data)
    task = tasks.setup_task(cfg.task)
    return write(path, cfg, untrained(cfg, task, seed), task.state_dict())


def write(path: Path, cfg: Any, model: nn.Module, task_state: dict[str, Any]) -> Path:
    """A checkpoint with these settings, parameters and state of the task."""
    state = {
        "args": None,
        "cfg": OmegaConf.to_container(cfg, resolve=True, enum_to_str=True),
        "model": model.state_dict(),
        "criterion": None,
        "optimizer_history": [
            {"optimizer_name": "FairseqAdam", "lr_scheduler_state": {}, "num_updates": 1}
        ],
        "task_state": task_state,
        "extra_state": {"train_iterator": {"epoch": 1}},
        "last_optimizer_state": None,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)
    return path


def rewritten(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The checkpoint after ``change`` of its state."""
    change(state := torch.load(path, weights_only=True))
    torch.save(state, path)
    return path


def changed(path: Path, outcome: Path, section: str, **settings: Any) -> Path:
    """A checkpoint with other settings in a section of its configuration."""
    state = torch.load(path, weights_only=True)
    part = state["cfg"][section] or {}
    (vars(part) if isinstance(part, Namespace) else part).update(settings)
    state["cfg"][section] = part
    torch.save(state, outcome)
    return outcome


def begin(cfg: Any, task: Any, hours: float = 0.0, **options: Any) -> int:
    """A training begins as ``given`` says, ``hours`` long, which are over; its last epoch."""
    how = CheckpointConfig(**options)
    cfg = copy.copy(cfg)
    cfg.checkpoint, cfg.optimization = how, OptimizationConfig(stop_time_hours=hours)
    trainer = SimpleNamespace(
        **{
            "checkpoint_suffix": "",
            "model": torch.nn.Module(),
            "lr_scheduler": None,
            "cfg": cfg,
            "task": task,
        },
        get_model=lambda: object.__new__(ARCH_MODEL_REGISTRY[cfg.model._name]),
        load_checkpoint=lambda name, *_, **__: (
            checkpoint_utils.load_checkpoint_to_cpu(name) and None
        ),
        get_train_iterator=lambda **options: SimpleNamespace(epoch=1),
        lr_step=lambda epoch: None,
        get_num_updates=lambda: 7,
        cumulative_training_time=lambda: 3600 * hours + 1,
    )
    checkpoint_utils.load_checkpoint(how, trainer)
    return cfg.optimization.max_epoch


class Malicious:
    """Unpickling this makes a file."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.victim}",)
