"""Random numbers that belong to sentences, against splitmix64 in whole numbers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.ops.randomness import uniform

pytestmark = pytest.mark.device

BITS = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
KEYS = st.integers(0, 2**31)


def mix(bits: int) -> int:
    """splitmix64's finaliser on 64-bit whole numbers."""
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & BITS
    return bits ^ (bits >> 31)


def number(seed: int, epoch: int, sentence: int, position: int, stream: int) -> float:
    key = mix((seed * 1_000_003 + stream) & BITS)
    key = mix((key + epoch * GAMMA) & BITS)
    key = mix((key + (sentence + 1) * GAMMA) & BITS)
    return (mix((key + (position + 1) * GAMMA) & BITS) >> 40) / (1 << 24)


@given(KEYS, st.integers(0, 1000), st.lists(KEYS, max_size=4), st.integers(0, 9), st.integers(0, 9))
def test_numbers_are_those_of_splitmix64_by_sentence_and_place(
    seed, epoch, sentences, count, stream
):
    """Whatever else is in the batch, and however long the row is."""
    before = torch.random.get_rng_state()
    sampled = uniform(seed, epoch, torch.tensor(sentences, dtype=torch.long), count, stream)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert sampled.dtype == torch.float32 and sampled.shape == (len(sentences), count)
    expected = [[number(seed, epoch, s, p, stream) for p in range(count)] for s in sentences]
    assert sampled.tolist() == expected
