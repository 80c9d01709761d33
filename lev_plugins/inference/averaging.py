"""The mean of several checkpoints of one training."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..errors import UserError
from ..fairseq_patches.checkpoints import read_checkpoint


def average(paths: Sequence[str]) -> dict[str, Any]:
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
    for name, total in sums.items():  # in place: a parameter with several names stays one
        newest[name].copy_(total / len(paths))
    state.pop("last_optimizer_state", None)
    return state


def load(path: str) -> dict[str, Any]:
    """A checkpoint's content, on the CPU; raises UserError for what is none of fairseq's."""
    state = read_checkpoint(path)
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise UserError(f"checkpoint {path} is not a fairseq checkpoint")
    return state
