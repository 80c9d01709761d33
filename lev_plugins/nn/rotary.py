"""Rotary positions: attention that knows how far apart two tokens are (Su et al., 2021, RoFormer).

Shapes: B sentences, T tokens, H heads, D channels of a head.
"""

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
        cos, sin = torch.stack([angles, angles], -2).flatten(-3, -2).unbind(-1)
        quarter = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])  # a product: faster than to cut and join
        return x * cos + x @ torch.block_diag(*[quarter] * (x.size(-1) // 2)) * sin
    wide = x if x.dtype == torch.float64 else x.float()
    pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2))) * torch.view_as_complex(angles)
    return torch.view_as_real(pairs).flatten(-2).to(x.dtype)
