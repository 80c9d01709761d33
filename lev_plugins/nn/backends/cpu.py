"""Faster than torch's own on a CPU: products, attention in bfloat16, dropout, memory.

torch multiplies single precision by MKL, which leaves half of a CPU that is not Intel's unused.
oneDNN, which every torch build carries too, does not: the same product, rounded in another order.
bfloat16 torch multiplies by oneDNN anyway; here the weights are laid out for it. CPUs without
AVX-512 multiply bfloat16 ten times as slowly as single precision: there it is multiplied in single
precision, and rounded again. :data:`ONEDNN_ENV` turns oneDNN off or on, in a process
:data:`onednn_dtypes`.

What each is worth stands in ``benchmarks/notes/speed.md``; what is not worth a twentieth goes.
"""

import contextlib
import ctypes
import functools
import os
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from ..kernels import Kernels
from ..packing import AttentionLayout, Unpadding

#: 0 or 1 in this variable of the environment: oneDNN never, or wherever torch has it
ONEDNN_ENV = "LEV_PLUGINS_ONEDNN"
CPUINFO = Path("/proc/cpuinfo")
#: multiplications below which starting oneDNN takes longer than it saves
MIN_PRODUCT = 2**21
#: the same where the weights are prepacked
MIN_PREPACKED_PRODUCT = {torch.float32: 2**20, torch.bfloat16: 2**17}
#: rows that weights are laid out for: a sentence
PREPACK_ROWS = 25
#: scores of a head; where there are more, what is kept of them takes too much memory
MAX_SCORES = 2**17
#: bytes of a matrix that the cache holds
CHUNK_BYTES = 2**21
#: with less padding than this the copies of packing cost more than they save
MIN_PADDING_SHARE = 0.1
_MALLOC_OPTIONS = {-4: 0, -1: -1, -2: 2**26}  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD of malloc.h


def default_onednn_dtypes() -> frozenset[torch.dtype]:
    """Returns the number types that oneDNN multiplies here, or that :data:`ONEDNN_ENV` names."""
    choice = os.environ.get(ONEDNN_ENV, "")
    if choice == "0" or not torch.backends.mkldnn.is_available():
        return frozenset()
    # elsewhere than on Linux it is believed to be one of Intel's, which MKL is made for
    is_intel = not CPUINFO.is_file() or "GenuineIntel" in CPUINFO.read_text("utf-8", "replace")
    beats_mkl = torch.backends.mkl.is_available() and not is_intel
    if choice == "1" or beats_mkl:
        return frozenset([torch.bfloat16, torch.float32])
    return frozenset([torch.bfloat16])


#: the kinds of numbers that oneDNN multiplies: bfloat16 with weights laid out for it
onednn_dtypes = default_onednn_dtypes()


@functools.cache
def supports_bf16_matmul() -> bool:
    """Returns whether oneDNN multiplies bfloat16 here: not on x86-64 CPUs without AVX-512."""
    is_there = torch.backends.mkldnn.is_available()
    return is_there and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def needs_upcast(x: Tensor) -> bool:
    """Returns whether single precision is faster for this tensor: bfloat16 on some CPUs."""
    return x.dtype == torch.bfloat16 and x.device.type == "cpu" and not supports_bf16_matmul()


def upcast(x: Tensor) -> Tensor:
    """Converts a tensor to single precision where :func:`needs_upcast` says so."""
    return x.float() if needs_upcast(x) else x


def has_amx() -> bool:
    """Returns whether this CPU has tiles of bf16 and 8 bits (AMX), which oneDNN alone uses."""
    # who holds oneDNN to older instructions, as tests do, has no use for it
    is_held = "ONEDNN_MAX_CPU_ISA" in os.environ or not torch.backends.mkldnn.is_available()
    return not is_held and torch.cpu._is_amx_tile_supported()


# linear layers ------------------------------------------------------------------------------------


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, relu: bool = False) -> Tensor:
    """See :meth:`.Kernels.linear`."""
    if x.dtype == weight.dtype and needs_upcast(x):
        bias = None if bias is None else upcast(bias)
        return linear(upcast(x), upcast(weight), bias, relu=relu).to(x.dtype)
    flat = x.reshape(-1, x.size(-1))
    work = x.numel() * weight.size(0)
    learns = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    if learns and _prepacked:  # optimizers may write to .data, whose changes are not counted
        _prepacked.pop(weight, None)
    is_onednns = x.dtype == weight.dtype and x.dtype in onednn_dtypes and x.device.type == "cpu"
    packed = None
    if is_onednns and not learns and work >= MIN_PREPACKED_PRODUCT[x.dtype]:
        packed = prepacked(weight)
    if packed is not None:
        out = onednn_linear(flat, packed, bias, "relu" if relu else "none")
        relu = False
    elif is_onednns and x.dtype == torch.float32 and work >= MIN_PRODUCT:
        out = (_Linear.apply if learns else onednn_linear)(flat, weight, bias)
    else:
        out = F.linear(flat, weight, bias)
    # in place: nothing else reads what was there
    out = F.relu_(out) if relu else out
    # of a view that is written to later autograd copies all
    return out if x.dim() == 2 else out.view(*x.shape[:-1], weight.size(0))


def onednn_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "none"
) -> Tensor:
    """Multiplies by oneDNN: N × inputs, outputs × inputs → N × outputs; activation: none or relu.

    The factors may be transposed views, the weight prepacked.
    """
    x, weight = contiguous_or_transposed(x), contiguous_or_transposed(weight)
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, activation, [], "")


def contiguous_or_transposed(x: Tensor) -> Tensor:
    """Copies what is part of wider rows, for which oneDNN takes a hundred times as long."""
    return x if x.is_mkldnn or x.is_contiguous() or x.t().is_contiguous() else x.contiguous()


def weight_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """Multiplies N × outputs, N × inputs → outputs × inputs.

    oneDNN copies the factor that comes first and is transposed: the smaller one. MKL copies none,
    and is as fast without AVX-512.
    """
    if torch.backends.cpu.get_cpu_capability() == "AVX2":
        return grad.t().mm(x)
    if grad.size(1) > x.size(1):
        return onednn_linear(x.t(), grad.t()).t()
    return onednn_linear(grad.t(), x.t())


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return onednn_linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        x_grad = onednn_linear(grad, weight.t()) if needs_x else None
        weight_grad = weight_gradient(grad, x) if needs_weight else None
        bias_grad = grad.sum(0) if needs_bias else None
        return x_grad, weight_grad, bias_grad


# weights laid out for decoding --------------------------------------------------------------------

#: weight → (copy packed for oneDNN, (version, pointer, dtype) of the weight when it was packed);
#: not next to the weight: models are pickled and copied with all that hangs on one
_prepacked = WeakIdKeyDictionary()


def prepack_weight(weight: Tensor) -> None:
    """Lays a copy of a weight (outputs × inputs) out as oneDNN reads it, for decoding.

    The copy serves until the weight changes, learns or is gone; what is written to its ``.data``
    alone is not noticed. Changes of what was made in inference mode are not counted: it is left
    alone.
    """
    is_onednns = weight.dtype in onednn_dtypes and weight.device.type == "cpu"
    if is_onednns and not weight.is_inference() and not needs_upcast(weight):
        plain = weight.detach().contiguous()
        packed = torch.ops.mkldnn._reorder_linear_weight(plain, PREPACK_ROWS)
        _prepacked[weight] = packed, _state(weight)


def prepacked(weight: Tensor) -> Tensor | None:
    """Returns the copy of :func:`prepack_weight`, where it is still the weight's."""
    copy, state = _prepacked.get(weight, (None, None))
    return copy if copy is not None and state == _state(weight) else None


def _state(weight: Tensor) -> tuple[int, int, torch.dtype]:
    return weight._version, weight.data_ptr(), weight.dtype


# attention ----------------------------------------------------------------------------------------


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float = 0.0,
    scale: float | None = None,
) -> Tensor:
    """See :meth:`.Kernels.attention`.

    torch's own kernel has no dropout, and its backward pass takes five times as long in bfloat16 as
    in single precision. Products of whole batches are fast: there the scores and the softmax have
    single precision, as in torch's kernel, and all other products that of the queries.
    """
    dtype = query.dtype
    has_bias = mask is not None and mask.dtype != torch.bool
    learns = query.requires_grad
    query, key, value = upcast(query), upcast(key), upcast(value)
    is_half = query.dtype == torch.bfloat16
    is_short = query.size(2) * key.size(2) <= MAX_SCORES
    if learns and is_short and (is_half or dropout) and not has_bias:
        factor = query.size(-1) ** -0.5 if scale is None else scale
        return _Attention.apply(query, key, value, mask, factor, dropout).to(dtype)
    if learns and is_half:
        query, key, value = query.float(), key.float(), value.float()
    if mask is not None and has_bias:
        mask = mask.to(query.dtype)
    return F.scaled_dot_product_attention(query, key, value, mask, dropout, scale=scale).to(dtype)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        scale: float,
        share: float,
    ) -> Tensor:
        ctx.scale, ctx.share = scale, share
        query, key, value = query.contiguous(), key.contiguous(), value.contiguous()
        scores = (query.float() @ key.float().transpose(2, 3)).mul_(scale)
        if mask is not None:
            scores.masked_fill_(~mask, float("-inf"))
        weights = scores.softmax(3).to(value.dtype)
        looks = dropout(weights, share, True)
        ctx.save_for_backward(query, key, value, weights, looks)
        return looks @ value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights, looks = ctx.saved_tensors
        grad = grad.contiguous()
        slope = grad @ value.transpose(2, 3)  # of the weights, then of the scores
        if ctx.share:
            slope.mul_(looks != 0).div_(1 - round(ctx.share * LEVELS) / LEVELS)
        slope = torch._softmax_backward_data(slope, weights, 3, weights.dtype).mul_(ctx.scale)
        gradients = (slope @ key, slope.transpose(2, 3) @ query, looks.transpose(2, 3) @ grad)
        return *gradients, None, None, None


# dropout ------------------------------------------------------------------------------------------

LEVELS = 2**16


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Does what ``torch.nn.functional.dropout`` does; ``p`` is rounded to a 65,536th.

    torch samples 32 bits an element, which takes as long as a narrow linear layer, and keeps them
    in the size of the activations. Here it is 16 bits an element, and a byte is kept.
    """
    if not training or p <= 0:
        return x
    level = round(p * LEVELS)
    return _Dropout.apply(x, level) if 0 < level < LEVELS else F.dropout(x, p, training)


def _dropout_mask(x: Tensor, level: int) -> Tensor:
    """Returns −1 where an element stays and 0 at ``level`` of 65,536, 16 bits, shaped like ``x``.

    Numbers and not bool: bool takes longer to compare and to multiply by than all the rest.
    """
    count = x.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    least = level - LEVELS // 2
    numbers = bits.view(torch.int16)[:count]
    mask = numbers.clamp_(least - 1, least).neg_().add_(least - 1)
    return mask.view(x.shape)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, level: int) -> Tensor:
        mask = _dropout_mask(x, level)
        ctx.save_for_backward(mask.to(torch.int8))
        ctx.scale = -LEVELS / (LEVELS - level)
        return mask.to(x.dtype).mul_(x).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return mask.to(grad.dtype).mul_(grad).mul_(ctx.scale), None


# what a model on a CPU computes with --------------------------------------------------------------


class CPUKernels(Kernels):
    """Those of a model on a CPU."""

    prefers_large_passes = False
    linear = staticmethod(linear)  # type: ignore[assignment]
    attention = staticmethod(attention)  # type: ignore[assignment]
    dropout = staticmethod(dropout)  # type: ignore[assignment]
    upcast = staticmethod(upcast)  # type: ignore[assignment]

    def packing(self, real: Tensor) -> Unpadding | None:
        """See :meth:`.Kernels.packing`."""
        packing = Unpadding(real, rounds_up=True)
        is_worth_it = len(packing.index) < (1 - MIN_PADDING_SHARE) * real.numel()
        return packing if is_worth_it else None

    def layout(self, real: Tensor) -> AttentionLayout:
        """See :meth:`.Kernels.layout`."""
        if bool(real.all()):
            return AttentionLayout()
        return AttentionLayout(real[:, None, None, :], self.packing(real))


# memory -------------------------------------------------------------------------------------------


def keep_memory() -> None:
    """Lets glibc keep what an update frees for the next one, which takes the same again.

    By itself it returns blocks above 32 megabytes, such as a batch's logits, and the kernel clears
    their pages again: a quarter of a translation model's training.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        for option, value in _MALLOC_OPTIONS.items():
            ctypes.CDLL(None).mallopt(option, value)
