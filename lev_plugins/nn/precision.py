"""Fewer bits for decoding on a CPU, where reading the weights takes the time.

``bf16`` halves all that is read and computed, and rounds: outputs may differ from those of fp32.
"""

from collections.abc import Iterable
from typing import Any

from torch import nn

from lev_runtime.errors import UserError

from ..io.program import running_command
from .backends import optimize
from .backends.cpu import needs_upcast, prepack_weight
from .kernels import Linear

PRECISIONS = ("fp32", "bf16")


def prepare_for_decoding(models: Iterable[nn.Module], precision: str) -> None:
    """Makes models compute with fewer bits, in place, for decoding.

    Where the CPU does not know bfloat16, ``bf16`` rounds the weights to it and computes in single
    precision. Besides layers, the weights of a part's ``output_weight()``, V × C, are prepacked. At
    last ``replay_passes()`` is called where a model has it.

    Args:
        precision: one of :data:`PRECISIONS`; fp32 computes the same, only sooner.

    Raises:
        UserError: another name.
    """
    if precision not in PRECISIONS:
        known = ", ".join(PRECISIONS)
        raise UserError(f"precision {precision}: choose from {known}; 8 bits: lev-export --int8")
    for model in models:
        if precision == "bf16":
            model.bfloat16()
            if any(needs_upcast(weight) for weight in model.parameters()):
                model.float()
        for part in model.modules():
            output: Any = getattr(part, "output_weight", None)
            if isinstance(part, Linear):
                prepack_weight(part.weight)
            elif output is not None:
                prepack_weight(output())
        optimize(model)
        replays: Any = getattr(model, "replay_passes", None)
        if replays is not None:
            replays()


def decoding_precision(cfg: Any) -> str:
    """Returns what a decoding command asks for: ``--decode-precision``, or fairseq's ``--bf16``,
    which outside of decoding is the training's."""
    wanted = str(getattr(cfg.task, "decode_precision", None) or PRECISIONS[0])
    decodes = running_command() in ("generate", "interactive")
    if decodes and wanted == PRECISIONS[0] and getattr(cfg.common, "bf16", False):
        return "bf16"
    return wanted
