"""Products in 8 bits, which torch has for CPUs."""

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from .cpu import has_amx

#: rows from which 8-bit products of tiles are the faster ones
MIN_TILED_ROWS = 64


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
        """… × inputs → … × outputs, in the type that came; ``relu`` as of :class:`.Linear`."""
        has_many_rows = x.numel() >= MIN_TILED_ROWS * self.in_features
        packed = self.tiled if has_many_rows and self.tiled is not None else self.packed
        out: Tensor = torch.ops.quantized.linear_dynamic(x.float(), packed, self.reduce_range)
        if relu:
            out.relu_()
        return out.to(x.dtype)


def overflows() -> bool:
    """Whether torch's 8-bit products are wrong on this CPU when both factors are large.

    x86-64 CPUs without VNNI add pairs of products in 16 bits, and cut off what is more.
    """
    count = 64
    weight = _pack(torch.ones(8, count))
    sums = torch.ops.quantized.linear_dynamic(torch.ones(1, count), weight)
    return bool((sums - count).abs().max() > 1)


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
    if not has_amx():
        return None
    before = torch.backends.quantized.engine
    try:
        torch.backends.quantized.engine = "onednn"
        return torch.ops.quantized.linear_prepack(*torch.ops.quantized.linear_unpack(packed))
    finally:
        torch.backends.quantized.engine = before
