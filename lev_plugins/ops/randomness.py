"""Random numbers that belong to a sentence, not to a process.

A number depends only on (seed, epoch, sentence, stream, position): the same for any batch
composition, number of workers, device, and after a training is resumed.
"""

import torch
from torch import Tensor

from lev_runtime.refine.arrays import GAMMA, mix, signed


def uniform(seed: int, epoch: int, sentences: Tensor, length: int, stream: int) -> Tensor:
    """Draws uniform numbers in [0, 1), one row a sentence.

    Args:
        seed: the run's seed.
        epoch: the epoch, so that a sentence meets other numbers each time it is seen.
        sentences: B, long, the sentences' indices in the data set.
        length: numbers a sentence, L. A longer row begins with the shorter one.
        stream: separates numbers sampled for different purposes.

    Returns:
        B × L, float32, on the device of ``sentences``.
    """
    key = torch.full_like(sentences, signed(seed * 1_000_003 + stream))
    return _uniform(epoch, sentences, length, key)


def uniform_streams(seed: int, epoch: int, sentences: Tensor, length: int, streams: int) -> Tensor:
    """Draws :func:`uniform` for the streams from 0 on, together: streams × B × L."""
    stream = torch.arange(streams, device=sentences.device).unsqueeze(1)
    return _uniform(epoch, sentences, length, stream + signed(seed * 1_000_003))


def _uniform(epoch: int, sentences: Tensor, length: int, stream: Tensor) -> Tensor:
    position = torch.arange(1, length + 1, device=sentences.device)
    key = mix(stream)
    key = mix(key + signed(epoch * GAMMA))
    key = mix(key + (sentences + 1) * GAMMA)
    bits = mix(key.unsqueeze(-1) + position * GAMMA)
    bits = (bits >> 40) & 0xFFFFFF
    return bits.to(torch.float32) / float(1 << 24)
