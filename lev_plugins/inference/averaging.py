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
_NUMBERED = (re.compile(r"checkpoint_\d+_(\d+)\.pt"), re.compile(r"checkpoint(\d+)\.pt"))


def numbered(folder: Path) -> list[Path]:
    """Checkpoints in a folder that have a number of updates, else of epochs, by that number."""
    for pattern in _NUMBERED:
        found = [(pattern.fullmatch(path.name), path) for path in folder.iterdir()]
        if numbers := sorted((int(match[1]), path) for match, path in found if match):
            return [path for _, path in numbers]
    return []


def chosen(named: Sequence[str], last: int | None = None) -> list[Path]:
    """The checkpoints to average, the newest last, of files or one folder; ``last``: how many.

    Raises:
        UserError: a file that is not there or named twice, or fewer than are wanted.
    """
    paths = [Path(name) for name in named]
    if len(paths) == 1 and paths[0].is_dir() and not (paths := numbered(paths[0])):
        raise UserError(
            f"{named[0]} holds no numbered checkpoints; train with --save-interval-updates and "
            "--keep-interval-updates, or name the files"
        )
    for i, path in enumerate(paths):
        if not path.is_file():
            raise UserError(f"checkpoint {path} does not exist")
        if any(os.path.samefile(path, other) for other in paths[:i]):
            raise UserError(f"checkpoint {path} is named twice")
    if last is not None and not 1 <= last <= len(paths):
        raise UserError(f"--last {last}: give 1 to {len(paths)}, the number of checkpoints")
    return paths if last is None else paths[-last:]


def average(paths: Sequence[Path]) -> dict[str, Any]:
    """The newest checkpoint's content, the last of ``paths``, with the mean of all parameters.

    Means are taken in double precision and kept in the parameters' own; a parameter with several
    names stays one. What is no floating point number (a counter) is the newest checkpoint's. There
    is no state of the optimizer.

    Raises:
        UserError: a file that cannot be read, is no checkpoint of fairseq's, or has other
            parameters than the newest.
    """
    state = load(paths[-1])
    newest: dict[str, Tensor] = state["model"]
    first: dict[object, str] = {}  # of parameters that are one and the same in memory, the name
    names = {
        name: first.setdefault((one.data_ptr(), one.shape, one.stride()), name)
        for name, one in newest.items()
    }
    averaged = [name for name in first.values() if newest[name].is_floating_point()]
    sums = {name: newest[name].to(torch.float64, copy=True) for name in averaged}
    for path in paths[:-1]:
        other = load(path)["model"]
        shapes = ({(name, one.shape) for name, one in model.items()} for model in (newest, other))
        if differ := sorted(set.symmetric_difference(*shapes)):
            raise UserError(
                f"{path} and {paths[-1]} are not of one training: {differ[0][0]} is missing in "
                "one or has another shape"
            )
        for name, total in sums.items():
            total += other[name]
    means = {name: (total / len(paths)).to(newest[name].dtype) for name, total in sums.items()}
    state.pop("last_optimizer_state", None)
    return {**state, "model": {name: means.get(one, newest[name]) for name, one in names.items()}}


def load(path: Path) -> dict[str, Any]:
    """A checkpoint's content, on the CPU; raises UserError for what is none of fairseq's."""
    state = read_checkpoint(path)
    model = state.get("model") if isinstance(state, dict) else None
    if not isinstance(model, dict) or not all(isinstance(one, Tensor) for one in model.values()):
        raise UserError(f"checkpoint {path} is not a fairseq checkpoint")
    return state


def save(state: dict[str, Any], output: str) -> None:
    """Write a checkpoint whole or not at all; raises UserError where it cannot be written."""
    with atomic_save(os.path.realpath(output)) as file:
        torch.save(state, file)
