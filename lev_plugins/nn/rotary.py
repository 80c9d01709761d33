"""Rotary positions: attention that knows how far apart two tokens are (Su et al., 2021, RoFormer).

Shapes: B sentences, T tokens, H heads, D channels of a head.
"""

import torch
from torch import Tensor

BASE = 10000.0  # Eq. 15


def turns(real: Tensor, width: int) -> Tensor:
    """The angle of every place and pair of channels, as complex numbers of length 1.

    ``real``: B × T, bool; places are counted from the first real token. ``width``: D, even.
    Returns B × 1 × T × D/2.
    """
    return turns_at(real.cumsum(1) - 1, width)


def turns_at(places: Tensor, width: int) -> Tensor:
    """:func:`turns` of places, counted from 0: B × T → B × 1 × T × D/2."""
    rate = BASE ** -(torch.arange(0, width, 2, device=places.device) / width)
    angle = places[:, None, :, None] * rate
    return torch.polar(torch.ones_like(angle), angle)


def turned(x: Tensor, by: Tensor | None) -> Tensor:
    """Queries or keys, … × B × H × T × D, each pair of channels turned (Eq. 34); None: as is.

    The product of a query and a key then depends on their distance, not on their places.
    """
    if by is None:
        return x
    wide = x if x.dtype == torch.float64 else x.float()
    pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2))) * by
    return torch.view_as_real(pairs).flatten(-2).to(x.dtype)
