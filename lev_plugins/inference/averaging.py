"""The mean of several checkpoints of one training."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from ..errors import UserError
from ..fairseq_patches.checkpoints import read_checkpoint

# checkpoint_EPOCH_UPDATES.pt and checkpointEPOCH.pt, as fairseq numbers them
_NUMBERED = (r"checkpoint_\d+_(\d+)\.pt", r"checkpoint(\d+)\.pt")


def chosen(named: Sequence[str], last: int | None = None) -> list[Path]:
    """The checkpoints to average, the newest last: files, or those of one folder that have a number
    of updates, else of epochs; ``last``: how many.

    Raises:
        UserError: a file that is not there or named twice, or fewer than are wanted.
    """
    paths = [Path(name) for name in named]
    if len(paths) == 1 and paths[0].is_dir():
        paths = _numbered(paths[0])
    for i, path in enumerate(paths):
        if not path.is_file():
            raise UserError(f"checkpoint {path} does not exist")
        if any(os.path.samefile(path, other) for other in paths[:i]):
            raise UserError(f"checkpoint {path} is named twice")
    if last is not None and not 1 <= last <= len(paths):
        raise UserError(f"--last {last}: give 1 to {len(paths)}, the number of checkpoints")
    return paths if last is None else paths[-last:]


def _numbered(folder: Path) -> list[Path]:
    for form in _NUMBERED:
        found = [(re.fullmatch(form, path.name), path) for path in folder.iterdir()]
        if numbered := sorted((int(match[1]), path) for match, path in found if match):
            return [path for _, path in numbered]
    raise UserError(f"{folder} holds no numbered checkpoints; name the files")


def average(paths: Sequence[Path]) -> dict[str, Any]:
    """The newest checkpoint's content, the last of ``paths``, with the mean of all parameters.

    Means are taken in double precision and kept in the parameters' own. What is no floating point
    number (a counter) is the newest checkpoint's. There is no state of the optimizer.

    Raises:
        UserError: a file that cannot be read, is no checkpoint of fairseq's, or has other
            parameters than the newest.
    """
    state = load(paths[-1])
    newest: dict[str, Tensor] = state["model"]
    sums = {name: one.double() for name, one in newest.items() if one.is_floating_point()}
    for path in paths[:-1]:
        other = load(path)["model"]
        shapes = ({(name, one.shape) for name, one in model.items()} for model in (newest, other))
        if differ := sorted(set.symmetric_difference(*shapes)):
            raise UserError(
                f"{path} and {paths[-1]} are not of one training: {differ[0][0]} is missing in "
                "one or has another shape"
            )
        sums = {name: total + other[name] for name, total in sums.items()}
    means: dict[object, Tensor] = {}  # a parameter with several names is one tensor, and stays one
    for name, total in sums.items():
        one = newest[name]
        key = one.data_ptr(), one.shape, one.stride()
        newest[name] = means.setdefault(key, (total / len(paths)).to(one.dtype))
    state.pop("last_optimizer_state", None)
    return state


def load(path: Path) -> dict[str, Any]:
    """A checkpoint's content, on the CPU; raises UserError for what is none of fairseq's."""
    state = read_checkpoint(path)
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise UserError(f"checkpoint {path} is not a fairseq checkpoint")
    return state
