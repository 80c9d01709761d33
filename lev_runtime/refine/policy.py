"""The policies of decoding, which edit one source; and the trace of deleted tokens.

Deleted tokens stay readable until their slot is filled.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, P tokens to be written.
Sequences begin with <s>, end with </s> and are padded on the right.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeGuard

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
        """Spreads B × L values of what stands, in order, over the places ``standing``: B × T."""
        number = self.arrays.xp.clip(standing.cumsum(1) - 1, 0, values.shape[1] - 1)
        return self.arrays.gather(values, number)


class Symbols(NamedTuple):
    """The symbols of a dictionary up to the placeholder, and the indices of the special ones."""

    names: tuple[str, ...]
    pad: int
    bos: int
    eos: int
    unk: int
    placeholder: int

    def inner(self, tokens: Array) -> Array:
        """Returns which tokens are neither padding nor ends: R × T, bool."""
        return (tokens != self.pad) & (tokens != self.bos) & (tokens != self.eos)


@dataclass
class Counts:
    """Numbers that the host knows of sentences, so that no device is waited for to find them out.

    changed: by the head that has read the sentences, the rows that have changed since. slots: how
    many there are in all. deleted: tokens in the trace, in all. writing: the rows with tokens to
    be written; None: unknown.
    """

    changed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    slots: int | None = None
    deleted: int | None = None
    writing: tuple[int, ...] | None = None


@dataclass
class EditState:
    """Sentences as a policy reads them."""

    tokens: Array  # B × T
    encoder_out: Any  # of EditPolicy.encode, row for row
    trace: Trace | None = None  # the tokens with those that were just deleted; None for none
    where: Array | None = None  # B × T, bool: tokens to be written
    places: Array | None = None  # P, the same flattened
    counts: Counts = field(default_factory=Counts)

    def inputs(self) -> tuple[Array, Array | None]:
        """Returns the tokens to be read, and which of them were deleted; None: none of them."""
        return (
            (self.tokens, None) if self.trace is None else (self.trace.tokens, self.trace.deleted)
        )

    def select(self, chosen: Sequence[int], arrays: Arrays) -> Self:
        """Returns the state of the sentences at rows that the host has chosen."""
        rows = arrays.as_tensor(chosen, self.tokens)
        where = places = None
        if self.where is not None and self.places is not None:
            where = self.where[rows]
            places = arrays.flatnonzero(where, len(self.places))
        return type(self)(
            self.tokens[rows],
            self.encoder_out.select(rows),
            None if self.trace is None else self.trace.select(rows),
            where,
            places,
        )


#: the heads, as checkpoints and histories name them, in the order in which an iteration asks them
HEADS = ("deletion", "placeholder", "token")


class EditPolicy:
    """A model that can be decoded with: a policy for deletion, placeholders and tokens.

    Attributes:
        edits: tells it from models that write from left to right.
        arrays: what it computes with.
        traces: whether it reads traces; else none are made.
        encode: B × S source tokens → encoder_out; ``encoder_out.select(rows)`` is that of some.
            It belongs to one decoding: a policy may keep in it what it has read.
        best_tokens: where that costs less than logits, the likeliest tokens of a state at
            ``where`` and their log-probabilities (P each); None: use the logits.
    """

    edits = True
    arrays: Arrays = NUMPY
    traces = False
    encode: Callable[..., Any]
    best_tokens: Callable[[EditState], tuple[Array, Array]] | None = None

    def logits(self, head: str, state: EditState) -> Array:
        """Returns the logits of a head, of any floating type; those at padding are ignored.

        ``deletion``: of keeping (0) and deleting (1) each token, B × T × 2. ``placeholder``: of the
        number missing in each slot k between tokens k and k + 1, B × (T − 1) × (K + 1). ``token``:
        of the symbols at ``state.where``, P × V. The insertion heads may read ``state.trace``.
        """
        raise NotImplementedError

    def max_positions(self) -> tuple[int, int]:
        """Returns the longest source and target, in tokens; any, if nobody says."""
        return sys.maxsize, sys.maxsize

    def eval(self) -> Self:
        """Prepares for decoding, as ``nn.Module.eval`` does."""
        return self


class FeaturePolicy(EditPolicy):
    """A policy that makes its logits in two steps, so that others can keep the features.

    exits: of each head, what its features are known by; heads of one exit share them.
    least_spared: tokens that have to be spared before it is worth to gather sentences.
    """

    exits: Mapping[str, Any]
    least_spared = 1

    def features(self, head: str, state: EditState) -> Mapping[Any, Array]:
        """Runs the decoder for a head; returns by exit what it makes of each sentence.

        Of deletion and placeholder a row for each sentence, with a column for each token read.
        """
        raise NotImplementedError

    def head_logits(self, head: str, features: Array, state: EditState) -> Array:
        """Returns the logits of a head (see :meth:`logits`) from its features."""
        raise NotImplementedError

    def logits(self, head: str, state: EditState) -> Array:
        """See the base class."""
        features = self.features(head, state)[self.exits[head]]
        return self.head_logits(head, features, state)


def is_edit_model(model: object) -> TypeGuard[EditPolicy]:
    """Returns whether a model, or a class of models, edits; others write from left to right."""
    return getattr(model, "edits", False)  # also one that fairseq has wrapped, to train it
