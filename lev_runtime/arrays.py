"""What the decoding loop computes with: numpy's arrays here; torch's in lev_plugins.

The loop is written once. What both kinds of array do alike (operators, slices, ``sum(1)``,
``tolist()``) it does itself; the rest is asked of an :class:`Arrays`.

Shapes: B rows, T columns, L columns afterwards, P places in an array laid flat.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .noise import uniform

#: an array of numpy, or a tensor of torch
Array = Any


class Arrays:
    """numpy's. ``like``: an array beside which a new one is to be.

    Attributes:
        waits: whether the host may have to wait for a number of theirs.
    """

    waits = False

    # new ones -----------------------------------------------------------------------------------

    def send(self, numbers: Any, like: Array) -> Array:
        """What the host knows, as an array."""
        return np.asarray(numbers)

    def zeros(self, shape: Sequence[int], like: Array) -> Array:
        """Single precision."""
        return np.zeros(shape, np.float32)

    def positions(self, count: int, like: Array) -> Array:
        """0, 1 … count − 1."""
        return np.arange(count)

    def repeated(self, values: Array, count: int) -> Array:
        """So many rows of the same values, which nobody writes to."""
        return values[None].repeat(count, 0)

    def copy(self, values: Array) -> Array:
        """One that may be written to."""
        return values.copy()

    # element by element -------------------------------------------------------------------------

    def single(self, values: Array) -> Array:
        """In single precision."""
        return values.astype(np.float32, copy=False)

    def whole(self, values: Array) -> Array:
        """Whole numbers of 64 bits."""
        return values.astype(np.int64)

    def exp(self, values: Array) -> Array:
        return np.exp(values)

    def log(self, values: Array) -> Array:
        return np.log(values)

    def where(self, mask: Array, values: Array, others: Array) -> Array:
        """Values where the mask is true, others elsewhere."""
        return np.where(mask, values, others)

    def fill(self, values: Array, mask: Array, value: float) -> Array:
        """A copy that has the value where the mask is true."""
        filled = values.copy()
        np.copyto(filled, value, where=mask)
        return filled

    def between(self, values: Array, least: int, most: int) -> Array:
        """Those that are lower raised to the least, those that are higher lowered to the most."""
        return np.minimum(np.maximum(values, least), most)

    def at_least(self, values: Array, least: int) -> Array:
        """The larger of each and the least."""
        return np.maximum(values, least)

    def minimum(self, values: Array, others: Array) -> Array:
        return np.minimum(values, others)

    def maximum(self, values: Array, others: Array) -> Array:
        return np.maximum(values, others)

    # rows and columns ---------------------------------------------------------------------------

    def take(self, values: Array, rows: Array) -> Array:
        """The rows of these numbers."""
        return values[rows]

    def gather(self, values: Array, columns: Array) -> Array:
        """Of each row what stands in its columns: B × T → B × L."""
        return values[np.arange(len(values))[:, None], columns]

    def concatenate(self, parts: Sequence[Array], axis: int) -> Array:
        return np.concatenate(parts, axis)

    def pad(self, values: Array, before: int, behind: int, fill: float) -> Array:
        """With so many columns more, in the last dimension."""
        if not before + behind:
            return values
        width = values.shape[-1]
        shape = *values.shape[:-1], before + width + behind
        wide = _full(shape, fill, values.dtype)
        wide[..., before : before + width] = values
        return wide

    def group_means(self, values: Array, groups: Array) -> Array:
        """Returns of each value the mean of those of its row that have its group: B × T.

        groups: B × T, whole numbers from 0 to T.
        """
        stride = groups.shape[1] + 1
        places = groups + stride * np.arange(len(groups))[:, None]
        sums = np.bincount(places.ravel(), values.ravel())
        means = sums / np.bincount(places.ravel()).clip(1)
        return means[places]

    # places -------------------------------------------------------------------------------------

    def places(self, mask: Array, count: int | None) -> Array:
        """Where a mask is true: P, in the mask laid flat; ``count``: P, where it is known."""
        return np.flatnonzero(mask)

    def put(self, values: Array, places: Array, new: Array) -> Array:
        """A copy with P new values at the places."""
        written = values.copy()
        written.reshape(-1)[places] = new
        return written

    def compaction(self, keep: Array, width: int | None = None) -> Callable[..., Array]:
        """ℰ(y, d): what moves the entries that are kept (B × T, bool) to the left end of their
        rows: B × T values, and what stands behind them → B × L. ``width``: L, where it is known."""
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
        """ℰ(y, p): what opens every slot by its count (B × (T − 1)): B × T values, what is new,
        and what stands behind the end → B × L. ``lengths``: B, of the rows before."""
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
        """Log-probabilities, single precision."""
        return logits - self.log_sum_exp(logits)[..., None]

    def log_sum_exp(self, logits: Array) -> Array:
        if logits.shape[-1] == 2:  # one call in the place of five
            return np.logaddexp(logits[..., 0], logits[..., 1])
        highest = logits.max(-1)
        shares = np.exp(logits - highest[..., None])
        return highest + np.log(shares.sum(-1))

    def likeliest(self, logits: Array) -> Array:
        """Of each of P × V logits the highest: P."""
        return logits.argmax(1)

    def rows_at_once(self, logits: Array) -> int:
        """How many rows of P × V logits it is best to look at together."""
        return max(1, len(logits))

    def uniform(self, seed: int, stream: int, lines: Array, classes: int) -> Array:
        """Random numbers of [0, 1), lines × classes, single precision."""
        return uniform(seed, stream, lines, classes)

    # to the host ----------------------------------------------------------------------------------

    def numbers(self, values: Sequence[Array]) -> list[Any]:
        """Arrays of one shape as numbers; a device is waited for once."""
        return [array.tolist() for array in values]

    def bring(self, arrays: Iterable[Array]) -> list[Array]:
        """Arrays of any shapes on the host; a device is waited for once for each of their types."""
        return list(arrays)


def padded(rows: Sequence[Sequence[int] | np.ndarray], fill: int) -> np.ndarray:
    """R × T, long; ``fill`` stands behind the shorter rows."""
    if len(rows) == 1:
        return np.asarray(rows[0], np.int64)[None]
    lengths = np.array([*map(len, rows)])
    mask = np.arange(lengths.max()) < lengths[:, None]
    array = np.full(mask.shape, fill)
    array[mask] = np.concatenate(rows)
    return array


def _full(shape: tuple[int, ...], fill: float, dtype: np.dtype[Any]) -> np.ndarray:
    """numpy's ``full``, which takes five times as long for a sentence."""
    values = np.empty(shape, dtype)
    values.fill(fill)
    return values


NUMPY = Arrays()
