"""Linear layers by the faster of torch's two matrix products on a CPU.

torch multiplies single precision by MKL. On CPUs that are not Intel's, MKL leaves more than half of
the machine unused, while oneDNN, which every torch build carries too, does not: the same product,
rounded in another order. Where oneDNN is not the better one, or not there, these are torch's own
layers.

On CPUs without AVX-512 both multiply bfloat16 ten times as slowly as single precision: there it is
multiplied in single precision, and rounded to bfloat16 again. Elsewhere torch takes oneDNN for it
too; called directly it is faster in training.
"""

import contextlib
import functools
import os
import platform
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

#: multiplications below which starting oneDNN takes longer than it saves
LEAST_PRODUCT = 2**21
#: the same where the weights are prepacked, in single precision and in bfloat16
LEAST_READY, LEAST_READY_BF16 = 2**20, 2**17
#: with fewer rows the weights' way through the memory is all that counts
LEAST_ROWS = 4
#: that weights are laid out for: a sentence
ROWS = 25
#: from as many rows on single precision is not padded (:func:`padded_rows`)
FEW_ROWS = 64
#: 0 or 1 in this variable of the environment: oneDNN never, or wherever torch has it
SWITCH = "LEV_PLUGINS_ONEDNN"
CPUINFO = Path("/proc/cpuinfo")
KINDS = (torch.float32, torch.bfloat16)


class _LaidOut(NamedTuple):
    """A copy for oneDNN, the weight that it is of, and how that was then."""

    whose: Callable[[], Tensor | None]
    copy: Tensor
    state: tuple[int, int, torch.dtype]


# by id, and not beside the weight: models are pickled and copied with all that hangs on a weight
laid_out: dict[int, _LaidOut] = {}


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, relu: bool = False) -> Tensor:
    """``torch.nn.functional.linear``: … × inputs, outputs × inputs, outputs → … × outputs.

    Args:
        relu: negative results become 0.
    """
    if needs_upcast(x) and x.dtype == weight.dtype and not torch.is_autocast_enabled("cpu"):
        bias = None if bias is None else upcast(bias)
        return linear(upcast(x), upcast(weight), bias, relu=relu).to(x.dtype)
    learning = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    least = LEAST_READY if x.dtype == torch.float32 else LEAST_READY_BF16
    large = x.numel() * weight.size(0) >= least and possible(x, weight)
    ready = prepacked(weight) if large and not learning else None
    flat = x.reshape(-1, x.size(-1))
    if ready is not None:
        out = _padded_product(flat, ready, bias, "relu" if relu else "none")
    else:
        if large and _pays(x, weight, learning):
            out = (_Linear.apply if learning else product)(flat, weight, bias)
        else:
            out = F.linear(flat, weight, bias)
        # nothing else reads what was there; a view of it torch would copy
        out = F.relu_(out) if relu else out
    return out.view(*x.shape[:-1], weight.size(0))


def prepack_weight(weight: Tensor) -> None:
    """Lays a copy of a weight (outputs × inputs) out as oneDNN reads it, for decoding.

    Products with few rows take two thirds of the time then. The copy serves until the weight
    changes or is gone. What was made in inference mode is left alone: its changes are not counted.
    """
    if not _prepacks or weight.dtype not in KINDS or weight.device.type != "cpu":
        return
    if weight.dtype == torch.float32 and not _wanted:
        return  # where MKL is the better one, it is so here too
    if needs_upcast(weight) or weight.is_inference():
        return
    laid = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), ROWS)
    key = id(weight)
    whose = weakref.ref(weight, lambda _: laid_out.pop(key, None))
    laid_out[key] = _LaidOut(whose, laid, _state(weight))


class Linear(nn.Linear):
    """A layer of torch, multiplied by :func:`linear`."""

    def forward(self, input: Tensor, *, relu: bool = False) -> Tensor:
        """… × inputs → … × outputs, and with ``relu`` 0 in the place of what is negative."""
        return linear(input, self.weight, self.bias, relu=relu)


def uses_one_dnn() -> bool:
    """Whether oneDNN multiplies single precision on this CPU."""
    return _wanted


@contextlib.contextmanager
def one_dnn(wanted: bool) -> Iterator[None]:
    """Inside the block oneDNN multiplies always (where torch has it), or never."""
    global _wanted, _prepacks
    before = _wanted, _prepacks
    _wanted = _prepacks = wanted and available()
    try:
        yield
    finally:
        _wanted, _prepacks = before


def available() -> bool:
    """Whether torch was built with oneDNN."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def has_tiles() -> bool:
    """Whether this CPU multiplies tiles of bf16 and of 8 bits (AMX), which oneDNN alone uses."""
    knows = getattr(torch.cpu, "_is_amx_tile_supported", None)
    # who holds oneDNN to older instructions, as tests do, has no use for it
    held = "ONEDNN_MAX_CPU_ISA" in os.environ or not torch.backends.mkldnn.is_available()
    return knows is not None and bool(knows()) and not held


@functools.cache
def knows_bfloat16() -> bool:
    """Whether oneDNN multiplies bfloat16 here: not on x86-64 CPUs without AVX-512."""
    knows = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return knows is not None and bool(knows())


def needs_upcast(x: Tensor) -> bool:
    """Whether products of this tensor are faster in single precision: bfloat16 on some CPUs."""
    return x.dtype == torch.bfloat16 and x.device.type == "cpu" and not knows_bfloat16()


def upcast(x: Tensor) -> Tensor:
    """The tensor in single precision where :func:`needs_upcast` says so, else as it is."""
    return x.float() if needs_upcast(x) else x


def by_default() -> bool:
    """Whether oneDNN is the faster one here, or :data:`SWITCH` says so."""
    said = os.environ.get(SWITCH, "")
    if said in ("0", "1"):
        return said == "1" and available()
    return available() and torch.backends.mkl.is_available() and not is_intel()


def prepacks_by_default() -> bool:
    """Whether weights are prepacked for oneDNN: in bfloat16 that is faster on any CPU."""
    return available() and os.environ.get(SWITCH, "") != "0"


def is_intel() -> bool:
    """Whether this is one of Intel's CPUs, which MKL is made for."""
    if not CPUINFO.is_file():
        return "AuthenticAMD" not in platform.processor()
    with CPUINFO.open(encoding="utf-8", errors="replace") as lines:
        return any("GenuineIntel" in line for line in lines if line.startswith("vendor_id"))


_wanted, _prepacks = by_default(), prepacks_by_default()


def possible(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN is wanted and can multiply these."""
    return (
        _prepacks
        and x.dtype == weight.dtype
        and x.dtype in KINDS
        and x.device.type == weight.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
    )


def _pays(x: Tensor, weight: Tensor, learning: bool) -> bool:
    """Whether oneDNN is the faster one where no weight was prepacked."""
    # torch itself takes it for bfloat16, but copies the bias and is slow at weight gradients
    wanted = learning if x.dtype == torch.bfloat16 else _wanted
    enough = x.numel() * weight.size(0) >= LEAST_PRODUCT
    return wanted and enough and x.numel() >= LEAST_ROWS * weight.size(1)


def _state(weight: Tensor) -> tuple[int, int, torch.dtype]:
    return weight._version, weight.data_ptr(), weight.dtype


def prepacked(weight: Tensor) -> Tensor | None:
    """The copy of :func:`prepack_weight`, where it is still the weight's."""
    laid = laid_out.get(id(weight))
    if laid is None or laid.whose() is not weight or laid.state != _state(weight):
        return None
    return laid.copy


def padded_rows(rows: int, dtype: torch.dtype) -> int:
    """How many rows to multiply in the place of so many, a sixteenth more at most.

    oneDNN makes a kernel for each shape that it has not met. With tiles (AMX) that takes longer
    than most products do; in single precision only small products are worth the padding.
    """
    if rows >= FEW_ROWS and dtype == torch.float32:
        return rows
    return rows + -rows % (1 << max(rows.bit_length() - 5, 0))


def _padded_product(x: Tensor, ready: Tensor, bias: Tensor | None, then: str) -> Tensor:
    rows = len(x)
    missing = padded_rows(rows, x.dtype) - rows
    if missing:
        x = F.pad(x, (0, 0, 0, missing))
    return multiply(x, ready, bias, then)[:rows]


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None, then: str = "none") -> Tensor:
    """oneDNN's own product, N × inputs → N × outputs; the weight may be prepacked.

    Args:
        then: what is done to each result, ``none`` or ``relu``.
    """
    out: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, then, [], "")
    return out


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """N × inputs, outputs × inputs → N × outputs; either may be a transposed view."""
    return multiply(dense(x), dense(weight), bias)


def dense(x: Tensor) -> Tensor:
    """A copy of what is part of wider rows, for which oneDNN takes a hundred times as long."""
    return x if x.is_contiguous() or x.t().is_contiguous() else x.contiguous()


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        return (
            product(grad, weight.t()) if wanted[0] else None,
            _weight_gradient(grad, x) if wanted[1] else None,
            grad.sum(0) if wanted[2] else None,
        )


def _weight_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """N × outputs, N × inputs → outputs × inputs, the sum over N."""
    if x.dtype == torch.bfloat16 and grad.size(1) > x.size(1):
        return grad.t() @ x  # here torch spares a copy of the wider one
    return product(grad.t(), x.t())
