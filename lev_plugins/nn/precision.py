"""Fewer bits for decoding on a CPU, where reading the weights is what takes the time.

``bf16`` halves all that is read and computed, where the CPU knows it; ``int8`` keeps activations in
single precision between the layers, and multiplies in 8 bits. Both round, so outputs may differ
from those of full precision, with int8 also from batch to batch.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import UserError
from ..io.program import running_command
from .cpu import Int8Linear, Linear, needs_upcast, prepack_weight

PRECISIONS = ("fp32", "bf16", "int8")
DECODING = ("generate", "interactive")
#: layers with fewer weights are not worth the rounding
LEAST_WEIGHTS = 4096


def quantize(models: Iterable[nn.Module], precision: str) -> None:
    """Makes models compute with fewer bits, in place, for decoding.

    Where the CPU does not know bfloat16, ``bf16`` rounds the weights to it and computes in single
    precision, which takes no longer than fp32.

    For products that no layer does, those with the vocabulary, a model may have ``int8_outputs()``,
    called after its layers were replaced, and a part of it ``output_weight()``, V × C.

    Args:
        precision: one of :data:`PRECISIONS`; fp32 computes the same, only sooner.

    Raises:
        UserError: another name; or 8 bits are wanted and the machine, or this torch, cannot.
    """
    if precision not in PRECISIONS:
        raise UserError(f"precision {precision!r}: one of {', '.join(PRECISIONS)}")
    for model in models:
        if precision == "bf16":
            model.bfloat16()
            if any(needs_upcast(weight) for weight in model.parameters()):
                model.float()
        elif precision == "int8":
            _check_int8(model)
            _replace_layers(model)
        if precision != "int8":
            _prepack_weights(model)


def decoding_precision(cfg: Any) -> str:
    """What a decoding command asks for: ``--decode-precision``, or fairseq's ``--bf16``.

    Outside of fairseq's commands ``bf16`` is the training's, and says nothing.

    Args:
        cfg: fairseq's configuration of the command.

    Raises:
        UserError: both, and they differ.
    """
    wanted = str(getattr(cfg.task, "decode_precision", None) or PRECISIONS[0])
    commanded = running_command() in DECODING
    if not commanded or not getattr(cfg.common, "bf16", False):
        return wanted
    if wanted == "int8":
        raise UserError("--decode-precision int8 and --bf16 exclude each other; give one of them")
    return "bf16"


def _check_int8(model: nn.Module) -> None:
    first = next(model.parameters(), None)
    if first is not None and first.device.type != "cpu":
        raise UserError("precision int8 is for a CPU; on a GPU use --fp16 or bf16")
    if any(type(part).__module__.startswith("fairseq.modules") for part in model.modules()):
        name = type(model).__name__
        raise UserError(f"precision int8 does not go with fairseq's own layers ({name}); use bf16")
    engines = set(torch.backends.quantized.supported_engines) - {"none"}
    if not engines or not hasattr(torch.ops.quantized, "linear_dynamic"):
        raise UserError(f"precision int8: torch {torch.__version__} cannot do it here; use bf16")


def _prepack_weights(model: nn.Module) -> None:
    for part in model.modules():
        output: Callable[[], Tensor] | None = getattr(part, "output_weight", None)
        if isinstance(part, Linear):
            prepack_weight(part.weight)
        elif output is not None:
            prepack_weight(output())


def _replace_layers(model: nn.Module) -> None:
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if not isinstance(layer, nn.Linear) or type(layer) not in (nn.Linear, Linear):
                continue  # also what is derived from them, which does more
            if layer.weight.numel() >= LEAST_WEIGHTS:
                setattr(parent, name, Int8Linear(layer.weight, layer.bias))
    outputs: Callable[[], None] | None = getattr(model, "int8_outputs", None)
    if outputs is not None:
        outputs()
