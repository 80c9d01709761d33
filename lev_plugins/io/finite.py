"""Parameters and scores that are numbers, and refusals of those that are not."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import UserError

if TYPE_CHECKING:  # torch takes a second, which a message does not need
    from torch import Tensor

#: what to do about a training that diverges
REMEDY = "lower --lr, raise --warmup-updates or give --clip-norm"
NOT_FINITE = (
    "the model's scores are not finite: its training has diverged, or the checkpoint is damaged; "
    "use an earlier one"
)


def non_finite(state: object) -> str | None:
    """The first parameter in a checkpoint that holds NaN or an infinity; None where none does.

    Args:
        state: what fairseq saves, with the parameters as ``model``.
    """
    from torch import Tensor

    model = state.get("model") if isinstance(state, Mapping) else None
    for name, tensor in model.items() if isinstance(model, Mapping) else ():
        if isinstance(tensor, Tensor) and tensor.is_floating_point() and not _is_finite(tensor):
            return str(name)
    return None


def _is_finite(tensor: "Tensor") -> bool:
    try:
        return bool(tensor.isfinite().all())
    except (NotImplementedError, RuntimeError):  # a kind of tensor that cannot be asked
        return True


def refuse_non_finite(path: str, state: object) -> None:
    """Refuses to use a checkpoint of a training that has diverged.

    Raises:
        UserError: a parameter is not finite.
    """
    name = non_finite(state)
    if name is not None:
        raise UserError(
            f"checkpoint {path}: {name} is not finite; its training has diverged, or the file is "
            "damaged: use an earlier checkpoint"
        )


def refuse_non_finite_scores(scores: "Tensor") -> None:
    """Refuses to answer with a model whose outputs (values, or log-probabilities) are not finite.

    Raises:
        UserError: one is not.
    """
    if not _is_finite(scores):
        raise UserError(NOT_FINITE)
