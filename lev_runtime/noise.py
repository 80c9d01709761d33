"""Random numbers that belong to a line, the same in every batch; whole numbers wrap at 64 bits."""

import numpy as np

_STREAM = 7
_MASKS = {shift: np.int64((1 << (64 - shift)) - 1) for shift in (27, 30, 31)}


def _signed(value: int) -> np.int64:
    """Returns the lowest 64 bits as a signed integer."""
    value %= 1 << 64
    return np.int64(value - (1 << 64) if value >= 1 << 63 else value)


_GAMMA = _signed(0x9E3779B97F4A7C15)
_FIRST = _signed(0xBF58476D1CE4E5B9)
_SECOND = _signed(0x94D049BB133111EB)


def _mix(bits: np.ndarray) -> np.ndarray:
    """Returns the finaliser of splitmix64 (Steele et al., 2014)."""
    bits = _folded(bits, 30) * _FIRST
    bits = _folded(bits, 27) * _SECOND
    return _folded(bits, 31)


def _folded(bits: np.ndarray, shift: int) -> np.ndarray:
    """Bits, exclusive or those that stand so far to their left; zeros come in from there."""
    return bits ^ ((bits >> shift) & _MASKS[shift])


def uniform(seed: int, stream: int, lines: np.ndarray, classes: int) -> np.ndarray:
    """Draws numbers of [0, 1), lines × classes, single precision."""
    start = np.array([_signed(seed * 1_000_003 + _STREAM)])
    of_seed = _mix(start)
    of_stream = _mix(of_seed + _signed(stream * int(_GAMMA)))
    of_lines = _mix(of_stream + (lines + 1) * _GAMMA)
    steps = np.arange(1, classes + 1) * _GAMMA
    bits = _mix(of_lines[:, None] + steps)
    bits = (bits >> 40) & 0xFFFFFF
    return bits.astype(np.float32) / np.float32(1 << 24)
