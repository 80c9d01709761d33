"""Rotary positions: attention that knows how far apart two tokens are (Su et al., 2021, RoFormer).

Shapes: B sentences, T tokens, H heads, D channels of a head.
"""

from typing import Any

import torch
from torch import Tensor


def rotary_angles(real: Tensor, width: int | None, first: int = 0) -> Tensor | None:
    """Returns cosine and sine of the angle of every place and pair of channels (Eq. 15).

    Args:
        real: B × T, bool; places count real tokens, from 0, and are wanted from ``first`` on.
        width: D, even; None for no rotary positions.

    Returns:
        B × 1 × (T − first) × D/2 × 2.
    """
    if width is None:
        return None
    places = real.long().cumsum(1)[:, first:] - 1  # ONNX sums no bools
    return angles_at(places, width)


def angles_at(places: Tensor, width: int) -> Tensor:
    """Does :func:`rotary_angles` for places, B × T."""
    channels = torch.arange(0, width, 2, device=places.device)
    rates = 10000.0 ** -(channels / width)
    angles = places[:, None, :, None] * rates
    return torch.stack([angles.cos(), angles.sin()], -1)


def apply_rotary(x: Tensor, angles: Tensor | None) -> Tensor:
    """Queries or keys, … × B × H × T × D, each pair of channels turned (Eq. 34); None: as is.

    The product of a query and a key then depends on their distance, not on their places.
    """
    if angles is None:
        return x
    if torch.jit.is_tracing():  # ONNX has no complex numbers
        rows = torch.arange(angles.size(0) * angles.size(2))
        if len(angles) > 1:  # else one place for all
            rows = rows.view(-1, angles.size(2))
        cos, sin = angles.flatten(0, 2).unbind(-1)
        turned: Tensor = TracedRotary.apply(x, rows, cos, sin)
        return turned
    wide = x if x.dtype == torch.float64 else x.float()
    pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2))) * torch.view_as_complex(angles)
    return torch.view_as_real(pairs).flatten(-2).to(x.dtype)


class TracedRotary(torch.autograd.Function):
    """Turns pairs of channels, of a graph that is exported: one node of ONNX Runtime's.

    x: B × H × T × D. rows: B × T, of the tables of cosines and sines, B·T × D/2 each; or of all
    one row, 1.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        cos, sin = cos[rows][:, None], sin[rows][:, None]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    @staticmethod
    def symbolic(g: Any, *values: Any) -> Any:
        node = g.op("com.microsoft::RotaryEmbedding", *values, interleaved_i=1)
        return node.setType(values[0].type())
