"""A deletion that leaves a trace: what was deleted stays readable until its slot is filled.

Shapes: B sentences, L tokens that stand, T with the deleted ones.
"""

from dataclasses import dataclass, replace
from typing import Self

from .arrays import NUMPY, Array, Arrays


@dataclass(frozen=True)
class Trace:
    """Sentences, and what was just deleted from them.

    tokens: B × T, those that stand and those that were deleted, in order, padded on the right.
    deleted: B × T, bool, those that were deleted. arrays: what they are computed with.
    """

    tokens: Array
    deleted: Array
    arrays: Arrays = NUMPY

    def standing(self, pad: int) -> Array:
        """Returns B × T, bool."""
        return (self.tokens != pad) & ~self.deleted

    def widened(self, width: int, pad: int) -> Self:
        """Returns the same sentences, B × ``width``."""
        more = width - self.tokens.shape[1]
        tokens = self.arrays.pad(self.tokens, 0, more, pad)
        deleted = self.arrays.pad(self.deleted, 0, more, False)
        return replace(self, tokens=tokens, deleted=deleted)

    def select(self, rows: Array) -> Self:
        """Returns the sentences at ``rows``."""
        return replace(self, tokens=self.tokens[rows], deleted=self.deleted[rows])

    def opened(self, counts: Array, after: Array, pad: int, width: int | None = None) -> Self:
        """Returns the sentences after an insertion; new tokens stand after what was deleted there.

        counts: B × (L − 1), of new tokens in each slot. after: B × M, what stands then. width: of
        the longest sentence then, with what was deleted, where it is known.
        """
        arrays = self.arrays
        standing = self.standing(pad)
        # the slot left of a token that stands, by its number among those
        numbers = standing.cumsum(1)[:, 1:]
        slots = arrays.xp.clip(numbers - 2, 0, counts.shape[1] - 1)
        wide = arrays.gather(counts, slots)
        wide = arrays.masked_fill(wide, ~standing[:, 1:], 0)
        lengths = (self.tokens != pad).sum(1)
        opened = arrays.opening(lengths, wide, width)
        # new tokens are any but pad: all that stand come from after
        tokens = opened(self.tokens, pad - 1, pad)
        deleted = opened(arrays.int64(self.deleted), 0, 0) > 0
        stands = replace(self, tokens=tokens, deleted=deleted).standing(pad)
        written = self._spread(after, stands)
        tokens = arrays.xp.where(stands, written, tokens)
        return replace(self, tokens=tokens, deleted=deleted)

    def spread(self, values: Array, pad: int) -> Array:
        """Returns B × L values of what stands, bool → B × T; False where it is deleted."""
        standing = self.standing(pad)
        return standing & self._spread(values, standing)

    def _spread(self, values: Array, standing: Array) -> Array:
        """Returns B × L values of what stands, in order → B × T, at the places where it is
        ``standing``."""
        number = self.arrays.xp.clip(standing.cumsum(1) - 1, 0, values.shape[1] - 1)
        return self.arrays.gather(values, number)
