"""The mean of several checkpoints of one training."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lev_runtime.errors import UserError

from ..fairseq_patches.checkpoint_files import difference, find_checkpoint, flag, plain
from ..fairseq_patches.checkpoints import read_checkpoint
from ..nn.seq2seq.config import SHAPELESS_OPTIONS

#: options of models that none of their parameters shows
OPTIONS = (
    *SHAPELESS_OPTIONS,
    "activation_fn",
    "encoder_normalize_before",
    "decoder_normalize_before",
    "gates",
    "gate_variant",
    "no_scale_embedding",
)
#: what EncT5's data say of themselves, and has to be the same
DESCRIBED = ("kind", "labels", "pieces")


def average(paths: Sequence[str]) -> dict[str, Any]:
    """The newest checkpoint's content, the last of ``paths``, with the mean of all parameters.

    Means are taken in double precision and kept in the parameters' own. What is no floating point
    number (a counter) is the newest checkpoint's. There is no state of the optimizer.

    Raises:
        UserError: a file that cannot be read, is no checkpoint of fairseq's, or has other
            parameters, dictionaries, labels or options than the newest.
    """
    state = load(paths[-1])
    newest: dict[str, Tensor] = state["model"]
    sums = {
        name: parameter.double()
        for name, parameter in newest.items()
        if parameter.is_floating_point()
    }
    for path in paths[:-1]:
        content = load(path)
        _refuse_other_training(state, content, f"{path} and {paths[-1]}")
        other = content["model"]
        differ = sorted(_shapes(newest) ^ _shapes(other))
        if differ:
            name, _ = differ[0]
            raise UserError(
                f"{path} and {paths[-1]} are not from the same training: {name} is "
                "missing in one or has another shape"
            )
        sums = {name: total + other[name] for name, total in sums.items()}
    for name, total in sums.items():  # in place: a parameter with several names stays one
        newest[name].copy_(total / len(paths))
    state.pop("last_optimizer_state", None)
    return state


def _shapes(model: dict[str, Tensor]) -> set[tuple[str, torch.Size]]:
    """The names of parameters, each with its shape."""
    return {(name, parameter.shape) for name, parameter in model.items()}


def load(path: str) -> dict[str, Any]:
    """A checkpoint's content, on the CPU; raises UserError for what is none of fairseq's."""
    state = read_checkpoint(find_checkpoint(path))
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise UserError(f"checkpoint {path} is not a fairseq checkpoint")
    return state


def _refuse_other_training(newest: dict[str, Any], other: dict[str, Any], both: str) -> None:
    """Refuses a checkpoint whose parameters, of equal shapes, mean something else."""
    sides = [plain(state.get("task_state")) for state in (other, newest)]
    symbols = [plain(side.get("symbols")) for side in sides]
    descriptions = [plain(side.get("description")) for side in sides]
    for side in ("source", "target"):
        there, here = (known.get(side) for known in symbols)
        if there and here and (differs := difference(there, here)):
            number, first, second = differs
            raise UserError(
                f"{both} were trained with different {side} dictionaries (symbol {number} "
                f"is {first} in the first and {second} in the second): average checkpoints "
                "of one training"
            )
    for name in DESCRIBED:
        there, here = (description.get(name) for description in descriptions)
        if None not in (there, here) and there != here:
            raise UserError(
                f"{both} were trained with different {name}: average checkpoints of one training"
            )
    settings = [plain(state.get("cfg")) for state in (other, newest)]
    options = [plain(cfg.get("model")) for cfg in settings]
    for name in OPTIONS:
        there, here = (model.get(name) for model in options)
        if str(there) != str(here) and None not in (there, here):
            raise UserError(
                f"{both} were trained with different options ({flag(name)} {there}, "
                f"{here}): average those of one training"
            )
