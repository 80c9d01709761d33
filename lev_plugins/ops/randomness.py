"""Random numbers that belong to a sentence, not to a process.

A number depends only on (seed, epoch, sentence, stream, position): the same for any batch
composition, number of workers, device, and after a training is resumed.
"""

import torch
from torch import Tensor

_MASKS = {shift: (1 << (64 - shift)) - 1 for shift in (27, 30, 31)}


def _signed(value: int) -> int:
    """The lowest 64 bits as the signed integer that torch stores."""
    value %= 1 << 64
    return value - (1 << 64) if value >= 1 << 63 else value


_GAMMA = _signed(0x9E3779B97F4A7C15)
_FIRST = _signed(0xBF58476D1CE4E5B9)
_SECOND = _signed(0x94D049BB133111EB)


def _mix(bits: Tensor) -> Tensor:
    """The finaliser of splitmix64 (Steele et al., 2014) in wrapping int64 arithmetic."""
    bits = _folded(bits, 30) * _FIRST
    bits = _folded(bits, 27) * _SECOND
    return _folded(bits, 31)


def _folded(bits: Tensor, shift: int) -> Tensor:
    """The upper bits on the lower ones; torch's shift would fill up with the sign."""
    upper = (bits >> shift) & _MASKS[shift]
    return bits ^ upper


def uniform(seed: int, epoch: int, sentences: Tensor, length: int, stream: int) -> Tensor:
    """Uniform numbers in [0, 1), one row a sentence.

    Args:
        seed: the run's seed.
        epoch: the epoch, so that a sentence meets other numbers each time it is seen.
        sentences: B, long, the sentences' indices in the data set.
        length: numbers a sentence, L. A longer row begins with the shorter one.
        stream: separates numbers sampled for different purposes.

    Returns:
        B × L, float32, on the device of ``sentences``.
    """
    key = torch.full_like(sentences, _signed(seed * 1_000_003 + stream))
    return _uniform(epoch, sentences, length, key)


def uniform_streams(seed: int, epoch: int, sentences: Tensor, length: int, streams: int) -> Tensor:
    """:func:`uniform` for the streams from 0 on, together: streams × B × L."""
    stream = torch.arange(streams, device=sentences.device).unsqueeze(1)
    return _uniform(epoch, sentences, length, stream + _signed(seed * 1_000_003))


def _uniform(epoch: int, sentences: Tensor, length: int, stream: Tensor) -> Tensor:
    position = torch.arange(1, length + 1, device=sentences.device)
    key = _mix(stream)
    key = _mix(key + _signed(epoch * _GAMMA))
    key = _mix(key + (sentences + 1) * _GAMMA)
    bits = _mix(key.unsqueeze(-1) + position * _GAMMA)
    bits = (bits >> 40) & 0xFFFFFF
    return bits.to(torch.float32) / float(1 << 24)
