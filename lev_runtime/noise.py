"""Noise by which the candidates of a sentence differ (Cho, 2016): the same for every batch.

A number depends on the seed, the sentence and the candidate alone; whole numbers wrap at 64 bits.
"""

import numpy as np

_LINES = 1 << 20  # room for the positions of a sentence in a key of the random numbers
_STREAM = 7
_MASKS = {shift: np.int64((1 << (64 - shift)) - 1) for shift in (27, 30, 31)}


def _signed(value: int) -> np.int64:
    """The lowest 64 bits as a signed integer."""
    value %= 1 << 64
    return np.int64(value - (1 << 64) if value >= 1 << 63 else value)


_GAMMA = _signed(0x9E3779B97F4A7C15)
_FIRST = _signed(0xBF58476D1CE4E5B9)
_SECOND = _signed(0x94D049BB133111EB)
_KEYS = np.int64(2_654_435_761), _signed(0x2127599BF4325C37), _signed(0x2545F4914F6CDD1D)


def _mix(bits: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64 (Steele et al., 2014)."""
    bits = (bits ^ ((bits >> 30) & _MASKS[30])) * _FIRST
    bits = (bits ^ ((bits >> 27) & _MASKS[27])) * _SECOND
    return bits ^ ((bits >> 31) & _MASKS[31])


def _uniform(seed: int, stream: int, lines: np.ndarray, classes: int) -> np.ndarray:
    """Numbers of [0, 1), lines × classes, single precision."""
    start = np.array([_signed(seed * 1_000_003 + _STREAM)])
    key = _mix(_mix(start) + _signed(stream * int(_GAMMA)))
    key = _mix(key + (lines + 1) * _GAMMA)[:, None]
    bits = _mix(key + np.arange(1, classes + 1) * _GAMMA)
    return ((bits >> 40) & 0xFFFFFF).astype(np.float32) / np.float32(1 << 24)


def sentence_key(source: np.ndarray, draft: np.ndarray) -> int:
    """A number that depends on the tokens of source and draft."""
    key = np.zeros(1, np.int64)
    with np.errstate(over="ignore"):
        for tokens in (source, draft):
            mixed = (tokens * _KEYS[0] + np.arange(1, len(tokens) + 1)) * _KEYS[1]
            mixed = (mixed ^ (mixed >> 32)) * _KEYS[2]
            key = key * 1_000_003 + mixed.sum()
    return int(key[0]) & ((1 << 40) - 1)


def gumbel_noise(
    seed: int, key: int, candidate: int, stream: int, positions: np.ndarray, classes: int
) -> np.ndarray:
    """Noise on logits, positions × classes; 0 for the first candidate, that of plain decoding.

    key: of :func:`sentence_key`. stream: iteration and phase.
    """
    if candidate == 0:
        return np.zeros((1, 1), np.float32)
    lines = np.int64((key + candidate) * _LINES) + positions
    with np.errstate(over="ignore"):
        points = _uniform(seed, stream, lines, classes)
    points = np.clip(points, np.float32(1e-7), np.float32(1 - 1e-7))
    return -np.log(-np.log(points))
