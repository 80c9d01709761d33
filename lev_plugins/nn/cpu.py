"""What is faster on a CPU than torch's own: products, attention in bfloat16, dropout, 8 bits.

torch multiplies single precision by MKL, which leaves half of a CPU that is not Intel's unused.
oneDNN, which every torch build carries too, does not: the same product, rounded in another order.
bfloat16 torch multiplies by oneDNN anyway; here the weights are laid out for it. CPUs without
AVX-512 multiply bfloat16 ten times as slowly as single precision: there it is multiplied in single
precision, and rounded again. :data:`SWITCH` turns oneDNN off or on, in a process :data:`kinds`.

What each is worth stands in ``benchmarks/notes/speed.md``; what is not worth a twentieth goes.
"""

import functools
import os
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from .accelerator import added_mask, is_accelerator

#: 0 or 1 in this variable of the environment: oneDNN never, or wherever torch has it
SWITCH = "LEV_PLUGINS_ONEDNN"
CPUINFO = Path("/proc/cpuinfo")
#: multiplications below which starting oneDNN takes longer than it saves
LEAST_PRODUCT = 2**21
#: the same where the weights are prepacked
LEAST_READY = {torch.float32: 2**20, torch.bfloat16: 2**17}
#: rows that weights are laid out for: a sentence
ROWS = 25
#: how many numbers of rows there are from a power of two to the next (:func:`padded_rows`)
ROWS_AN_OCTAVE = 16
#: rows from which 8-bit products of tiles are the faster ones
LEAST_TILED = 64
#: scores of a head; where there are more, what is kept of them takes too much memory
MOST_SCORES = 2**17
#: bytes of a matrix that a CPU's cache holds
AT_ONCE = 2**21
#: bytes of a matrix that a GPU can spare beside a model, several times over
GPU_AT_ONCE = 2**28


def kinds_by_default() -> frozenset[torch.dtype]:
    """The kinds of numbers that oneDNN multiplies here, or that :data:`SWITCH` says."""
    said = os.environ.get(SWITCH, "")
    if said == "0" or not torch.backends.mkldnn.is_available():
        return frozenset()
    # elsewhere than on Linux it is believed to be one of Intel's, which MKL is made for
    intel = not CPUINFO.is_file() or "GenuineIntel" in CPUINFO.read_text("utf-8", "replace")
    both = said == "1" or (torch.backends.mkl.is_available() and not intel)
    return frozenset(LEAST_READY) if both else frozenset([torch.bfloat16])


#: the kinds of numbers that oneDNN multiplies: bfloat16 with weights laid out for it
kinds = kinds_by_default()


def has_tiles() -> bool:
    """Whether this CPU multiplies tiles of bf16 and of 8 bits (AMX), which oneDNN alone uses."""
    # who holds oneDNN to older instructions, as tests do, has no use for it
    held = "ONEDNN_MAX_CPU_ISA" in os.environ or not torch.backends.mkldnn.is_available()
    return not held and torch.cpu._is_amx_tile_supported()


@functools.cache
def knows_bfloat16() -> bool:
    """Whether oneDNN multiplies bfloat16 here: not on x86-64 CPUs without AVX-512."""
    there = torch.backends.mkldnn.is_available()
    return there and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def needs_upcast(x: Tensor) -> bool:
    """Whether products of this tensor are faster in single precision: bfloat16 on some CPUs."""
    return x.dtype == torch.bfloat16 and x.device.type == "cpu" and not knows_bfloat16()


def upcast(x: Tensor) -> Tensor:
    """The tensor in single precision where :func:`needs_upcast` says so, else as it is."""
    return x.float() if needs_upcast(x) else x


# linear layers ------------------------------------------------------------------------------------


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, relu: bool = False) -> Tensor:
    """``torch.nn.functional.linear``: … × inputs, outputs × inputs, outputs → … × outputs.

    With ``relu`` negative results become 0.
    """
    if is_accelerator(x):
        out = F.linear(x, weight, bias)
        # not in place: it is a view, whose gradient would be copied
        return F.relu(out) if relu else out
    if x.dtype == weight.dtype and needs_upcast(x):
        bias = None if bias is None else upcast(bias)
        return linear(upcast(x), upcast(weight), bias, relu=relu).to(x.dtype)
    flat, work = x.reshape(-1, x.size(-1)), x.numel() * weight.size(0)
    learning = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    if learning and _laid_out:  # optimizers may write to .data, whose changes are not counted
        _laid_out.pop(weight, None)
    ours = x.dtype == weight.dtype and x.dtype in kinds and x.device.type == "cpu"
    decodes = ours and not learning and work >= LEAST_READY[x.dtype]
    ready = prepacked(weight) if decodes else None
    if ready is not None:
        out, relu = product(flat, ready, bias, "relu" if relu else "none"), False
    elif ours and x.dtype == torch.float32 and work >= LEAST_PRODUCT:
        out = (_Linear.apply if learning else product)(flat, weight, bias)
    else:
        out = F.linear(flat, weight, bias)
    # in place: nothing else reads what was there
    return (F.relu_(out) if relu else out).view(*x.shape[:-1], weight.size(0))


class Linear(nn.Linear):
    """A layer of torch, multiplied by :func:`linear`."""

    def forward(self, input: Tensor, *, relu: bool = False) -> Tensor:
        """… × inputs → … × outputs, and with ``relu`` 0 in the place of what is negative."""
        return linear(input, self.weight, self.bias, relu=relu)


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None, then: str = "none") -> Tensor:
    """oneDNN's: N × inputs, outputs × inputs → N × outputs, and ``none`` or ``relu``.

    The factors may be transposed views, the weight prepacked.
    """
    x, weight = dense(x), dense(weight)
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, then, [], "")


def dense(x: Tensor) -> Tensor:
    """A copy of what is part of wider rows, for which oneDNN takes a hundred times as long."""
    return x if x.is_mkldnn or x.is_contiguous() or x.t().is_contiguous() else x.contiguous()


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
            product(grad.t(), x.t()) if wanted[1] else None,
            grad.sum(0) if wanted[2] else None,
        )


# weights laid out for decoding --------------------------------------------------------------------

#: weight → its copy for oneDNN, and how the weight was then. Not beside the weight: models are
#: pickled and copied with all that hangs on one
_laid_out = WeakIdKeyDictionary()


def prepack_weight(weight: Tensor) -> None:
    """Lays a copy of a weight (outputs × inputs) out as oneDNN reads it, for decoding.

    The copy serves until the weight changes, learns or is gone; what is written to its ``.data``
    alone is not noticed. Changes of what was made in inference mode are not counted: it is left
    alone.
    """
    ours = weight.dtype in kinds and weight.device.type == "cpu" and not weight.is_inference()
    if ours and not needs_upcast(weight):
        laid = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), ROWS)
        _laid_out[weight] = laid, _state(weight)


def prepacked(weight: Tensor) -> Tensor | None:
    """The copy of :func:`prepack_weight`, where it is still the weight's."""
    copy, state = _laid_out.get(weight, (None, None))
    return copy if copy is not None and state == _state(weight) else None


def _state(weight: Tensor) -> tuple[int, int, torch.dtype]:
    return weight._version, weight.data_ptr(), weight.dtype


def padded_rows(rows: int) -> int:
    """How many rows to multiply in the place of so many, a sixteenth more at most.

    oneDNN makes a kernel for each shape that it has not met. In bfloat16, with tiles (AMX), that
    takes longer than most products do.
    """
    return rows + -rows % max((1 << rows.bit_length()) // 2 // ROWS_AN_OCTAVE, 1)


def rows_at_once(x: Tensor) -> int:
    """How many rows of ``x`` (P × V) are copied together, in single precision or more."""
    row = max(1, x.size(1)) * max(x.element_size(), torch.float32.itemsize)
    return max(1, (AT_ONCE if x.device.type == "cpu" else GPU_AT_ONCE) // row)


# attention ----------------------------------------------------------------------------------------


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float = 0.0,
    scale: float | None = None,
) -> Tensor:
    """``scaled_dot_product_attention`` of B × H × T × D queries over B × H × S × D.

    The backward pass of torch's own kernel takes five times as long in bfloat16 as in single
    precision. Products of whole batches are fast in both: there the scores and the softmax have
    single precision, as in torch's kernel, and all other products bfloat16. ``mask``: bool, True
    where attention may look, or to be added; expands to B × H × T × S. ``scale``: None for 1 / √D.
    """
    kind, added = query.dtype, mask is not None and mask.dtype != torch.bool
    if kind == torch.bfloat16 and query.device.type == "cpu":
        learns, slow = query.requires_grad, needs_upcast(query)
        few = query.size(2) * key.size(2) <= MOST_SCORES
        if learns and few and not (dropout or added or slow):
            by = query.size(-1) ** -0.5 if scale is None else scale
            return _Attention.apply(query, key, value, mask, by)
        if learns or slow:
            query, key, value = query.float(), key.float(), value.float()
    if mask is not None and added:
        mask = mask.to(query.dtype)
    elif mask is not None and is_accelerator(mask):
        mask = added_mask(mask, query.dtype)
    return F.scaled_dot_product_attention(query, key, value, mask, dropout, scale=scale).to(kind)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float
    ) -> Tensor:
        ctx.shape, ctx.scale = query.shape[:2], scale
        query, key, value = (x.reshape(-1, *x.shape[2:]) for x in (query, key, value))
        scores = torch.bmm(query.float(), key.float().transpose(1, 2)).mul_(scale)
        if mask is not None:
            scores.unflatten(0, ctx.shape).masked_fill_(~mask, float("-inf"))
        weights = scores.softmax(2).to(value.dtype)
        ctx.save_for_backward(query, key, value, weights)
        return torch.bmm(weights, value).unflatten(0, ctx.shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights = ctx.saved_tensors
        grad = grad.reshape(query.shape)
        slope = torch.bmm(grad, value.transpose(1, 2))  # of the weights, then of the scores
        slope = torch._softmax_backward_data(slope, weights, 2, weights.dtype).mul_(ctx.scale)
        by_query, by_key = torch.bmm(slope, key), torch.bmm(slope.transpose(1, 2), query)
        found = by_query, by_key, torch.bmm(weights.transpose(1, 2), grad)
        return *(one.unflatten(0, ctx.shape) for one in found), None, None


# dropout ------------------------------------------------------------------------------------------

LEVELS = 2**16


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """``torch.nn.functional.dropout``, any shape; on a CPU ``p`` is rounded to a 65,536th.

    torch samples 32 bits an element there, which takes as long as a narrow linear layer, and keeps
    them in the size of the activations. Here it is 16 bits an element, and a byte is kept.
    """
    if not training or p <= 0:
        return x
    level = round(p * LEVELS)
    if x.device.type != "cpu" or not 0 < level < LEVELS:
        return F.dropout(x, p, training)
    return _Dropout.apply(x, level)


def _kept(x: Tensor, level: int) -> Tensor:
    """−1 where an element stays and 0 at ``level`` of 65,536, 16 bits, in the shape of ``x``.

    Numbers and not bool: bool takes longer to compare and to multiply by than all the rest.
    """
    count = x.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    least = level - LEVELS // 2
    kept = bits.view(torch.int16)[:count].clamp_(least - 1, least).neg_().add_(least - 1)
    return kept.view(x.shape)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, level: int) -> Tensor:
        kept = _kept(x, level)
        ctx.save_for_backward(kept.to(torch.int8))
        ctx.scale = -LEVELS / (LEVELS - level)
        return kept.to(x.dtype).mul_(x).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return kept.to(grad.dtype).mul_(grad).mul_(ctx.scale), None


# 8 bits -------------------------------------------------------------------------------------------


class Int8Linear(nn.Module):
    """A linear layer in 8 bits, for decoding alone; ``weight``: outputs × inputs.

    The weights have one scale for each output, what comes in one for the whole batch, found anew
    each time; that has 7 bits where 8 would be too many (:func:`overflows`).
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.packed = _pack(weight, bias)
        self.tiled = _in_tiles(self.packed)  # a second copy, for many rows; copied it has no tiles
        self.reduce_range = overflows()

    def forward(self, x: Tensor, *, relu: bool = False) -> Tensor:
        """… × inputs → … × outputs, in the type that came; ``relu`` as :class:`Linear` has it."""
        many = self.tiled is not None and x.numel() >= LEAST_TILED * self.in_features
        packed = self.tiled if many else self.packed
        out: Tensor = torch.ops.quantized.linear_dynamic(x.float(), packed, self.reduce_range)
        return (out.relu_() if relu else out).to(x.dtype)


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
    """The same weight and bias laid out by oneDNN; None where it has no tiles."""
    if not has_tiles():
        return None
    before = torch.backends.quantized.engine
    try:
        torch.backends.quantized.engine = "onednn"
        return torch.ops.quantized.linear_prepack(*torch.ops.quantized.linear_unpack(packed))
    finally:
        torch.backends.quantized.engine = before
