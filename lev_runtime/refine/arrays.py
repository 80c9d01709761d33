"""Arrays that the decoding loop computes with: numpy's here, torch's in lev_plugins.

The loop is written once. What numpy and torch have alike (operators, slices, ``sum(1)``; in their
modules ``where``, ``clip``, ``exp``) it uses itself; the rest, by torch's names, is in
:class:`Arrays`. Random numbers belong to a line and are the same in every batch.

Shapes: B rows, T columns, L columns afterwards, P places in a flattened array.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

NOISE_STREAM = 7  # of the random numbers: roll-in has 0 to 5 (expert.py)


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
    of_seed = mix(np.array([signed(seed * 1_000_003 + NOISE_STREAM)]))
    of_stream = mix(of_seed + signed(stream * GAMMA))
    of_lines = mix(of_stream + (lines + 1) * GAMMA)
    bits = mix(of_lines[:, None] + np.arange(1, classes + 1) * GAMMA)
    bits = (bits >> 40) & 0xFFFFFF  # as many as single precision holds exactly
    return bits.astype(np.float32) / np.float32(1 << 24)


#: an array of numpy, or a tensor of torch
Array = Any


class Arrays:
    """numpy's. ``like``: an array on whose device a new one is made.

    Attributes:
        xp: the module, for functions that numpy and torch have alike.
        waits: whether the host may have to wait for a number of theirs.
    """

    xp: Any = np
    waits = False

    # new ones -----------------------------------------------------------------------------------

    def as_tensor(self, numbers: Any, like: Array) -> Array:
        """Makes an array of what the host knows."""
        return np.asarray(numbers)

    def zeros_like(self, values: Array) -> Array:
        """Returns zeros of single precision."""
        return self.xp.zeros_like(values, dtype=self.xp.float32)

    def arange(self, count: int, like: Array) -> Array:
        """Returns 0, 1 … count − 1."""
        return np.arange(count)

    def copy(self, values: Array) -> Array:
        """Returns a copy that may be written to."""
        return values.copy()

    # element by element -------------------------------------------------------------------------

    def float32(self, values: Array) -> Array:
        """Converts to single precision."""
        return values.astype(np.float32, copy=False)

    def int64(self, values: Array) -> Array:
        """Converts to integers of 64 bits."""
        return values.astype(np.int64)

    def masked_fill(self, values: Array, mask: Array, value: float) -> Array:
        """Returns a copy with the value where the mask is true."""
        filled = values.copy()
        np.copyto(filled, value, where=mask)
        return filled

    # rows and columns ---------------------------------------------------------------------------

    def gather(self, values: Array, columns: Array) -> Array:
        """Gathers columns per row: B × T → B × L."""
        return values[np.arange(len(values))[:, None], columns]

    def pad(self, values: Array, before: int, after: int, fill: float) -> Array:
        """Pads the last dimension."""
        if not before + after:
            return values
        width = values.shape[-1]
        shape = *values.shape[:-1], before + width + after
        wide = _full(shape, fill, values.dtype)
        wide[..., before : before + width] = values
        return wide

    def resize(self, values: Array, width: int) -> Array:
        """Cuts or pads (with zeros) a copy in the second dimension: B × T … → B × L …."""
        wide = _full((len(values), width, *values.shape[2:]), 0, values.dtype)
        shorter = min(width, values.shape[1])
        wide[:, :shorter] = values[:, :shorter]
        return wide

    # places -------------------------------------------------------------------------------------

    def flatnonzero(self, mask: Array, count: int | None) -> Array:
        """Returns where a mask is true: P, in the flattened mask; ``count``: P, if known."""
        return np.flatnonzero(mask)

    def put(self, values: Array, places: Array, new: Array) -> Array:
        """Returns a copy with P new values at the places."""
        written = values.copy()
        written.reshape(-1)[places] = new
        return written

    def compaction(self, keep: Array, width: int | None = None) -> Callable[..., Array]:
        """Returns ℰ(y, d), a function of B × T values and a padding: B × L.

        It moves the kept entries (B × T, bool) to the left. ``width``: L, where it is known.
        """
        sizes = keep.sum(1)
        longest = max(sizes.max(), 1) if width is None else width
        here = np.arange(longest) < sizes[:, None]

        def compact(values: Array, fill: float) -> Array:
            moved = _full(here.shape, fill, values.dtype)
            moved[here] = values[keep]
            return moved

        return compact

    def opening(
        self, lengths: Array, counts: Array, width: int | None = None
    ) -> Callable[..., Array]:
        """Returns ℰ(y, p), a function of B × T values, a new value and a padding: B × L.

        It opens every slot by its count, B × (T − 1). ``lengths``: B, of the rows before.
        """
        count, slots = counts.shape
        new_places = counts.cumsum(1)
        totals = lengths + new_places[:, -1]
        longest = totals.max() if width is None else width
        stride = longest + 1  # of a row, with a column that is cut off
        columns = np.arange(slots + 1)
        places = np.empty((count, slots + 1), np.int64)
        places[:] = columns
        places[:, 1:] += new_places
        is_padded = count > 1 or lengths[0] <= slots
        if is_padded:
            places[columns >= lengths[:, None]] = longest
            places += np.arange(0, count * stride, stride)[:, None]

        def open_slots(values: Array, new: float, fill: float) -> Array:
            opened = _full((count, stride), new, values.dtype)
            if fill != new and is_padded:
                beyond = np.arange(stride) >= totals[:, None]
                opened[beyond] = fill
            opened.reshape(-1)[places] = values
            return opened[:, :longest]

        return open_slots

    # scores, over the last dimension --------------------------------------------------------------

    def log_softmax(self, logits: Array) -> Array:
        """Returns log-probabilities, single precision."""
        return logits - self.logsumexp(logits)[..., None]

    def logsumexp(self, logits: Array) -> Array:
        """Returns log Σ exp, the last dimension left out."""
        if logits.shape[-1] == 2:  # one call instead of five
            return np.logaddexp(logits[..., 0], logits[..., 1])
        highest = logits.max(-1)
        shares = np.exp(logits - highest[..., None])
        return highest + np.log(shares.sum(-1))

    def argmax(self, logits: Array) -> Array:
        """Returns the index of the highest of each row of P × V logits: P."""
        return logits.argmax(1)

    def rows_at_once(self, logits: Array) -> int:
        """Returns how many rows of P × V logits fit into the cache together."""
        return max(1, len(logits))

    def uniform(self, seed: int, stream: int, lines: Array, classes: int) -> Array:
        """Draws numbers of [0, 1), lines × classes, single precision."""
        return uniform(seed, stream, lines, classes)

    # to the host ----------------------------------------------------------------------------------

    def tolist(self, values: Sequence[Array]) -> list[Any]:
        """Returns arrays of one shape as lists; a device is waited for once."""
        return [array.tolist() for array in values]

    def to_host(self, arrays: Iterable[Array]) -> list[Array]:
        """Copies arrays of any shapes to the host; a device is waited for once for each type."""
        return list(arrays)


def padded(rows: Sequence[Sequence[int] | np.ndarray], fill: int) -> np.ndarray:
    """Pads rows: R × T, long."""
    if len(rows) == 1:
        return np.asarray(rows[0], np.int64)[None]
    lengths = np.array([*map(len, rows)])
    mask = np.arange(lengths.max()) < lengths[:, None]
    array = np.full(mask.shape, fill)
    array[mask] = np.concatenate(rows)
    return array


def _full(shape: tuple[int, ...], fill: float, dtype: np.dtype[Any]) -> np.ndarray:
    """Does what ``np.full`` does, in a fifth of the time for a sentence."""
    values = np.empty(shape, dtype)
    values.fill(fill)
    return values


NUMPY = Arrays()
