"""Fewer bits for decoding on a CPU, where reading the weights is what takes the time.

``bf16`` halves all that is read and computed; ``int8`` multiplies in 8 bits, with activations in
single precision between the layers. Both round: outputs may differ from those of full precision,
with int8 also from batch to batch.
"""

from collections.abc import Iterable
from typing import Any

from torch import nn

from lev_runtime.errors import UserError

from ..io.program import running_command
from .backends import optimize
from .backends.cpu import needs_upcast, prepack_weight
from .backends.int8 import Int8Linear
from .kernels import Linear

PRECISIONS = ("fp32", "bf16", "int8")
#: layers with fewer weights are not worth the rounding
LEAST_WEIGHTS = 4096


def prepare_for_decoding(models: Iterable[nn.Module], precision: str) -> None:
    """Makes models compute with fewer bits, in place, for decoding.

    Where the CPU does not know bfloat16, ``bf16`` rounds the weights to it and computes in single
    precision. For products with the vocabulary, which no layer does, a model may have
    ``int8_outputs()``, called after its layers were replaced, a part ``output_weight()``, V × C. At
    last ``replay_passes()`` is called where a model has it.

    Args:
        precision: one of :data:`PRECISIONS`; fp32 computes the same, only sooner.

    Raises:
        UserError: another name; or 8 bits are wanted, on a GPU or of fairseq's own layers.
    """
    if precision not in PRECISIONS:
        raise UserError(f"precision {precision!r}: choose from {', '.join(PRECISIONS)}")
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
        optimize(model)
        replays: Any = getattr(model, "replay_passes", None)
        if replays is not None:
            replays()


def decoding_precision(cfg: Any) -> str:
    """What a decoding command asks for: ``--decode-precision``, or fairseq's ``--bf16``.

    Outside of them ``bf16`` is the training's. A UserError where both are given and differ.
    """
    wanted = str(getattr(cfg.task, "decode_precision", None) or PRECISIONS[0])
    decodes = running_command() in ("generate", "interactive")
    if not decodes or not getattr(cfg.common, "bf16", False):
        return wanted
    if wanted == "int8":
        raise UserError("--decode-precision int8 and --bf16 exclude each other; choose one")
    return "bf16"


def _check_int8(model: nn.Module) -> None:
    if any(weight.device.type != "cpu" for weight in model.parameters()):
        raise UserError("precision int8 needs a CPU; on a GPU use --fp16 or bf16")
    if any(type(part).__module__.startswith("fairseq.modules") for part in model.modules()):
        name = type(model).__name__
        raise UserError(
            f"precision int8 does not work with fairseq's own layers ({name}); use bf16"
        )


def _prepack_weights(model: nn.Module) -> None:
    for part in model.modules():
        output: Any = getattr(part, "output_weight", None)
        if isinstance(part, Linear):
            prepack_weight(part.weight)
        elif output is not None:
            prepack_weight(output())


def _replace_layers(model: nn.Module) -> None:
    for parent in list(model.modules()):
        for name, layer in list[tuple[str, Any]](parent.named_children()):
            # not what is derived from them, which does more
            if type(layer) in (nn.Linear, Linear) and layer.weight.numel() >= LEAST_WEIGHTS:
                setattr(parent, name, Int8Linear(layer.weight, layer.bias))
    outputs: Any = getattr(model, "int8_outputs", None)
    if outputs is not None:
        outputs()
