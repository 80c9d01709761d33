"""The mean of several checkpoints of one training."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import UserError
from ..fairseq_patches import atomic_save, read_checkpoint

# checkpoint_EPOCH_UPDATES.pt and checkpointEPOCH.pt, as fairseq numbers them
_BY_UPDATES = re.compile(r"checkpoint_\d+_(\d+)\.pt")
_BY_EPOCH = re.compile(r"checkpoint(\d+)\.pt")
OPTIMIZER = "last_optimizer_state"
#: Options of models by which parameters of the same names and shapes mean something else.
MEANINGS = (
    "gate_variant copied_states no_future_modelling source_copy early_exit activation_fn "
    "encoder_attention_heads decoder_attention_heads encoder_normalize_before "
    "decoder_normalize_before no_scale_embedding"
).split()


def numbered(folder: Path) -> list[Path]:
    """Checkpoints in a folder that have a number of updates, else of epochs, by that number."""
    for pattern in (_BY_UPDATES, _BY_EPOCH):
        found = [(pattern.fullmatch(path.name), path) for path in folder.iterdir()]
        numbers = sorted((int(match[1]), path) for match, path in found if match)
        if numbers:
            return [path for _, path in numbers]
    return []


def chosen(named: Sequence[str], last: int | None = None) -> list[Path]:
    """The checkpoints to average, the newest last, of files or one folder; ``last``: how many.

    Raises:
        UserError: a file that is not there, named twice, or fewer than are wanted.
    """
    if len(named) == 1 and os.path.isdir(named[0]):
        paths = numbered(Path(named[0]))
        if not paths:
            raise UserError(
                f"{named[0]} holds no numbered checkpoints; train with --save-interval-updates and "
                "--keep-interval-updates, or name the files"
            )
    else:
        paths = [Path(name) for name in named]
    for path in paths:
        if not path.is_file():
            raise UserError(f"checkpoint {path} does not exist")
        if sum(os.path.samefile(path, other) for other in paths if other.is_file()) > 1:
            raise UserError(f"checkpoint {path} is named twice")
    if last is not None and not 1 <= last <= len(paths):
        raise UserError(
            f"--last {last}: there are {len(paths)} checkpoints; give 1 to {len(paths)}"
        )
    return paths if last is None else paths[-last:]


def average(paths: Sequence[Path]) -> dict[str, Any]:
    """The newest checkpoint's content, the last of ``paths``, with the mean of all parameters.

    Means are taken in double precision and kept in the parameters' own. What is no floating point
    number (a counter) is the newest checkpoint's.

    Raises:
        UserError: a file that cannot be read, is no checkpoint of fairseq's, or has other
            parameters than the newest, or parameters that mean something else.
    """
    state = load(paths[-1])
    newest: dict[str, Tensor] = state["model"]
    # a parameter with several names is averaged once and stays one
    first = {_place(one): name for name, one in reversed(newest.items())}
    sums = {
        name: newest[name].to(torch.float64, copy=True)
        for name in first.values()
        if newest[name].is_floating_point()
    }
    for path in paths[:-1]:
        other = load(path)
        if difference := _difference(other, state):
            raise UserError(f"{path} and {paths[-1]} are not of one training: {difference}")
        for name, total in sums.items():
            total += other["model"][name]
    means = {name: (one / len(paths)).to(newest[name].dtype) for name, one in sums.items()}
    rest = {name: value for name, value in state.items() if name != OPTIMIZER}
    model = {name: means.get(first[_place(one)], one) for name, one in newest.items()}
    return {**rest, "model": model}


def _place(tensor: Tensor) -> tuple[Any, ...]:
    """What tensors have in common that are one and the same in memory."""
    storage = tensor.untyped_storage().data_ptr()
    # without elements there is no memory to tell tensors by
    where = id(tensor) if not tensor.numel() else storage
    return where, tensor.storage_offset(), tuple(tensor.shape), tensor.stride()


def load(path: Path) -> dict[str, Any]:
    """A checkpoint's content, on the CPU.

    Raises:
        UserError: it cannot be read, or is no checkpoint of fairseq's.
    """
    state = read_checkpoint(path)
    model = state.get("model") if isinstance(state, dict) else None
    if not isinstance(model, dict) or not all(isinstance(one, Tensor) for one in model.values()):
        raise UserError(f"checkpoint {path} is not a fairseq checkpoint")
    return state


def save(state: dict[str, Any], output: str) -> None:
    """Write a checkpoint that appears there whole or not at all.

    Raises:
        UserError: it cannot be written.
    """
    with atomic_save(os.path.realpath(output)) as file:
        torch.save(state, file)


def _difference(first: dict[str, Any], second: dict[str, Any]) -> str | None:
    """What tells that two checkpoints are not of one training."""
    for name in (*second["model"], *first["model"]):
        shapes = [
            f"is {tuple(one['model'][name].shape)}" if name in one["model"] else "is missing"
            for one in (first, second)
        ]
        if shapes[0] != shapes[1]:
            return f"{name} {shapes[0]} in the first and {shapes[1]} in the second"
    ours, theirs = _model_options(first), _model_options(second)
    for name in (name for name in MEANINGS if name in ours and name in theirs):
        if str(ours[name]) != str(theirs[name]):
            return (
                f"--{name.replace('_', '-')} is {ours[name]} in the first and {theirs[name]} in "
                "the second, so that their parameters mean different things"
            )
    return None


def _model_options(state: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint's model was built with, as far as it says so."""
    cfg = state.get("cfg")
    found = cfg.get("model") if isinstance(cfg, dict) else state.get("args")
    return found if isinstance(found, dict) else getattr(found, "__dict__", {})
