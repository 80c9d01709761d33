"""Random numbers that belong to a line, the same in every batch.

Whole numbers have 64 bits and wrap, in arrays of numpy and in tensors alike.
"""

from typing import Any

import numpy as np

_STREAM = 7


def signed(value: int) -> int:
    """Returns the lowest 64 bits as a signed integer."""
    value %= 1 << 64
    return value - (1 << 64) if value >= 1 << 63 else value


GAMMA = signed(0x9E3779B97F4A7C15)
_FIRST = signed(0xBF58476D1CE4E5B9)
_SECOND = signed(0x94D049BB133111EB)


def mix(bits: Any) -> Any:
    """Returns the finaliser of splitmix64 (Steele et al., 2014)."""
    bits = _folded(bits, 30) * _FIRST
    bits = _folded(bits, 27) * _SECOND
    return _folded(bits, 31)


def _folded(bits: Any, shift: int) -> Any:
    """Returns the upper bits on the lower ones; the shift itself would fill up with the sign."""
    return bits ^ ((bits >> shift) & ((1 << (64 - shift)) - 1))


def uniform(seed: int, stream: int, lines: np.ndarray, classes: int) -> np.ndarray:
    """Draws numbers of [0, 1), lines × classes, single precision."""
    of_seed = mix(np.array([signed(seed * 1_000_003 + _STREAM)]))
    of_stream = mix(of_seed + signed(stream * GAMMA))
    of_lines = mix(of_stream + (lines + 1) * GAMMA)
    bits = mix(of_lines[:, None] + np.arange(1, classes + 1) * GAMMA)
    bits = (bits >> 40) & 0xFFFFFF
    return bits.astype(np.float32) / np.float32(1 << 24)
