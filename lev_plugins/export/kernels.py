"""Operators that ONNX Runtime has and torch's exporter does not write by itself.

Each node takes as long as some arithmetic: with one symbol of one text most of the time lies
between nodes.

Shapes: R rows, T tokens, C channels, H heads, D = C / H.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.onnx import symbolic_helper
from torch.utils.weak import WeakIdKeyDictionary

from ..nn.kernels import Kernels

OPSET = 20
ATTENTION = "com.microsoft::MultiHeadAttention"


class MultiHeadAttention(torch.autograd.Function):
    """Attention as one node in place of ten.

    Query R × T × C, key and value R × H × keys × D, mask int32 (R × keys or R × T × keys) or None
    → R × T × C.
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        heads: int,
        scale: float | None,
    ) -> Tensor:
        """Computes what the node computes, for the trace."""
        query = query.unflatten(2, (heads, -1)).transpose(1, 2)
        if mask is not None:
            mask = mask.bool().unsqueeze(1).reshape(len(mask), 1, -1, mask.size(-1))
        out = F.scaled_dot_product_attention(query, key, value, mask, scale=scale)
        return out.transpose(1, 2).flatten(2)

    @staticmethod
    def symbolic(
        g: Any, query: Any, key: Any, value: Any, mask: Any, heads: int, scale: float | None
    ) -> Any:
        """Writes the node."""
        values = [query, key, value]
        if not symbolic_helper._is_none(mask):
            no_bias = g.op("prim::Constant").setType(torch._C.OptionalType.ofTensor())
            values += [no_bias, mask]
        options = {"num_heads_i": heads} | ({} if scale is None else {"scale_f": scale})
        return g.op(ATTENTION, *values, **options).setType(query.type())


class TracedKernels(Kernels):
    """Attention as plain products, which onnxruntime runs faster than what torch writes.

    fused: as one node instead, which is faster for one symbol; masks are then of bools, the same
    for all heads, or None.
    """

    def __init__(self, fused: bool = False) -> None:
        self.fused = fused
        #: of a mask what is added to the scores, once for all layers
        self.added = WeakIdKeyDictionary()

    def attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        dropout: float = 0.0,
        scale: float | None = None,
    ) -> Tensor:
        """See the base class; in evaluation."""
        if self.fused:
            if mask is not None:
                mask = (mask[:, 0, 0] if mask.size(2) == 1 else mask[:, 0]).int()
            heads = int(query.size(1))
            query = query.transpose(1, 2).flatten(2)
            out: Tensor = MultiHeadAttention.apply(query, key, value, mask, heads, scale)
            return out.unflatten(2, (heads, -1)).transpose(1, 2)
        scale = int(query.size(-1)) ** -0.5 if scale is None else scale
        scores = query * scale @ key.transpose(2, 3)
        if mask is not None and mask.dtype == torch.bool:
            if mask not in self.added:
                self.added[mask] = torch.where(mask, 0.0, float("-inf"))
            mask = self.added[mask]
        scores = scores if mask is None else scores + mask
        return scores.softmax(3) @ value


def _reshaped(g: Any, x: Any, sizes: Sequence[int]) -> Any:
    """Writes one node; 0 keeps a size."""
    return g.op("Reshape", x, g.op("Constant", value_t=torch.tensor(sizes)))


def _unflatten(g: Any, x: Any, dim: Any, sizes: Any) -> Any:
    """Writes ``x.unflatten(-1, sizes)``."""
    rank: Any = symbolic_helper._get_tensor_rank(x)
    assert symbolic_helper._get_const(dim, "i", "dim") % rank == rank - 1
    return _reshaped(g, x, [0] * (rank - 1) + symbolic_helper._get_const(sizes, "is", "sizes"))


def _flatten(g: Any, x: Any, start: Any, end: Any) -> Any:
    """Writes ``x.flatten(dim)``, or ``x.flatten(0, 1)`` of B × T × C; nothing for what was just
    unflattened."""
    rank: Any = symbolic_helper._get_tensor_rank(x)
    start, end = (symbolic_helper._get_const(dim, "i", "dim") % rank for dim in (start, end))
    before = x.node()
    if before.kind() == "onnx::Reshape" and start == rank - 2:
        (whole, _) = before.inputs()
        if symbolic_helper._get_tensor_rank(whole) == rank - 1:
            return whole
    if start == 0 and end == rank - 2:
        return g.op("Flatten", x, axis_i=rank - 1)
    after = symbolic_helper._get_tensor_sizes(x)[end + 1 :]
    return _reshaped(g, x, [0] * start + [-1, *after])


def _transpose(g: Any, x: Any, first: int, second: int) -> Any:
    """Writes ``x.transpose(first, second)``; nothing for what has just been transposed so."""
    perm = [*range(len(symbolic_helper._get_tensor_sizes(x)))]
    first, second = (symbolic_helper._get_const(dim, "i", "dim") for dim in (first, second))
    perm[first], perm[second] = perm[second], perm[first]
    before = x.node()
    if before.kind() == "onnx::Transpose" and list(getattr(before, "is")("perm")) == perm:
        return before.input()
    return g.op("Transpose", x, perm_i=perm)


for _symbolic in (_unflatten, _flatten, _transpose):
    name = _symbolic.__name__.removeprefix("_")
    torch.onnx.register_custom_op_symbolic(f"aten::{name}", _symbolic, OPSET)
