"""Fewer bits for decoding on a CPU, where reading the weights is what takes the time.

``bf16`` halves all that is read and computed, where the CPU knows it; ``int8`` keeps activations in
single precision between the layers, and multiplies in 8 bits: the weights with one scale for each
output, what goes into a layer with one for the whole batch, found anew each time; that has 7 bits
where 8 would be too many (:func:`overflows`). Both round, so outputs may differ from those of full
precision, with int8 also from batch to batch.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import UserError
from ..io.program import running_command
from .linear import Linear, has_tiles, needs_upcast, padded_rows, prepack_weight

PRECISIONS = ("fp32", "bf16", "int8")
DECODING = ("generate", "interactive")
#: layers with fewer weights are not worth the rounding
LEAST_WEIGHTS = 4096
#: rows from which products of tiles are the faster ones
LEAST_ROWS = 64
PLAIN = (nn.Linear, Linear)


class Int8Linear(nn.Module):
    """A linear layer in 8 bits, for decoding alone.

    Args:
        weight: outputs × inputs. bias: outputs, or None.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.packed = _pack(weight, bias)
        self.tiled = _in_tiles(self.packed)  # a second copy, for many rows
        self.reduce_range = overflows()

    def __getstate__(self) -> dict[str, Any]:
        """Without the second copy, whose layout would be lost."""
        return {**vars(self), "tiled": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes the second copy again."""
        super().__setstate__(state)
        self.tiled = _in_tiles(self.packed)

    def forward(self, x: Tensor, *, relu: bool = False) -> Tensor:
        """… × inputs → … × outputs, in the type that came; ``relu`` as :class:`.Linear` has it."""
        kind, x = x.dtype, x.float()
        if self.tiled is None or x.numel() < LEAST_ROWS * self.in_features:
            return self._multiply(x, self.packed, relu).to(kind)
        flat = x.reshape(-1, self.in_features)
        rows = len(flat)
        missing = padded_rows(rows, torch.qint8) - rows  # zeros change no scale
        out = self._multiply(F.pad(flat, (0, 0, 0, missing)) if missing else flat, self.tiled, relu)
        return out[:rows].view(*x.shape[:-1], self.out_features).to(kind)

    def _multiply(self, x: Tensor, packed: Any, relu: bool) -> Tensor:
        quantized = torch.ops.quantized
        multiply = quantized.linear_relu_dynamic if relu else quantized.linear_dynamic
        out: Tensor = multiply(x, packed, self.reduce_range)
        return out


def multiplies_tiles() -> bool:
    """Whether 8-bit numbers are multiplied in tiles here."""
    return has_tiles() and "onednn" in torch.backends.quantized.supported_engines


def overflows() -> bool:
    """Whether torch's 8-bit products are wrong on this CPU when both factors are large.

    x86-64 CPUs without VNNI add pairs of products in 16 bits, and cut off what is more.
    """
    count = 64
    found = torch.ops.quantized.linear_dynamic(torch.ones(1, count), _pack(torch.ones(8, count)))
    return bool((found - count).abs().max() > 1)


def _pack(weight: Tensor, bias: Tensor | None = None) -> Any:
    weight = weight.detach().float()
    scales = (weight.abs().amax(1) / 127).clamp(min=1e-12).double()
    zeros = torch.zeros(len(weight), dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the functions' new home has no kernel of its own yet
        small = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    bias = None if bias is None else bias.detach().float()
    return torch.ops.quantized.linear_prepack(small, bias)


def _in_tiles(packed: Any) -> Any:
    """The same weight and bias once more, laid out by oneDNN; None where it has no tiles."""
    if not multiplies_tiles():
        return None
    before = torch.backends.quantized.engine
    try:
        torch.backends.quantized.engine = "onednn"
        return torch.ops.quantized.linear_prepack(*torch.ops.quantized.linear_unpack(packed))
    finally:
        torch.backends.quantized.engine = before


def quantize(models: Iterable[nn.Module], precision: str) -> None:
    """Makes models compute with fewer bits, in place, for decoding.

    Where the CPU does not know bfloat16, ``bf16`` rounds the weights to it and computes in single
    precision, which takes no longer than fp32.

    A model may have ``int8_outputs()``, called after its layers were replaced, for products that no
    layer does (its vocabulary); a part of it may have ``output_weight()``, the weight of such a
    product.

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
            outputs = getattr(model, "int8_outputs", None)
            if outputs is not None:
                outputs()
        if precision != "int8":
            _prepack_weight(model)


class CommandConfig(Protocol):
    """Of fairseq's configuration of a command what is asked here."""

    task: object
    common: object


def decoding_precision(cfg: CommandConfig) -> str:
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
        raise UserError(
            f"precision int8 does not go with fairseq's own layers ({type(model).__name__}); use "
            "bf16"
        )
    engines = [name for name in torch.backends.quantized.supported_engines if name != "none"]
    if not engines or not hasattr(torch.ops.quantized, "linear_dynamic"):
        raise UserError(
            f"precision int8: torch {torch.__version__} has no 8-bit products on this machine; "
            "use bf16"
        )


def _prepack_weight(model: nn.Module) -> None:
    for part in model.modules():
        output: Callable[[], Tensor] | None = getattr(part, "output_weight", None)
        if isinstance(part, Linear):
            prepack_weight(part.weight)
        elif output is not None:
            prepack_weight(output())


def _replace_layers(model: nn.Module) -> None:
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if (
                isinstance(layer, nn.Linear)
                and type(layer) in PLAIN
                and layer.weight.numel() >= LEAST_WEIGHTS
            ):
                setattr(parent, name, Int8Linear(layer.weight, layer.bias))
