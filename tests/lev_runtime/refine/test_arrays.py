"""Random numbers that belong to sentences, against splitmix64 in whole numbers."""

from hypothesis import given
from hypothesis import strategies as st

BITS = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
KEYS = st.integers(0, 2**31)


def mix(bits: int) -> int:
    """splitmix64's finaliser on 64-bit whole numbers."""
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & BITS
    return bits ^ (bits >> 31)


def number(seed: int, stream: int, line: int, place: int) -> float:
    key = mix((seed * 1_000_003 + 7) & BITS)  # apart from those of the roll-in
    key = mix((key + stream * GAMMA) & BITS)
    key = mix((key + (line + 1) * GAMMA) & BITS)
    return (mix((key + (place + 1) * GAMMA) & BITS) >> 40) / (1 << 24)


@given(KEYS, st.integers(0, 1000), st.lists(KEYS, max_size=4), st.integers(0, 9))
def test_numbers_are_those_of_splitmix64_by_line_and_place(arrays, seed, stream, lines, count):
    """Whatever else is in the batch, and however long the row is."""
    keys = arrays.int64(arrays.xp.asarray(lines))
    drawn = arrays.uniform(seed, stream, keys, count)
    assert drawn.shape == (len(lines), count) and drawn.dtype == arrays.xp.float32
    assert drawn.tolist() == [[number(seed, stream, s, p) for p in range(count)] for s in lines]
