"""The policies that decoding asks: models that edit one source.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, P tokens to be written.
Sequences begin with <s>, end with </s> and are padded on the right.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeGuard

from .arrays import NUMPY, Array, Arrays
from .traces import Trace


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


class EditPolicy:
    """A model that can be decoded with: a policy for deletion, placeholders and tokens.

    Attributes:
        arrays: what it computes with.
        traces: whether it reads traces; else none are made.
        trace_of: makes a trace of B × T tokens and of those that are deleted.
        encode: B × S source tokens → encoder_out; ``encoder_out.select(rows)`` is that of some.
            It belongs to one decoding: a policy may keep in it what it has read.
        best_tokens: where that costs less than logits, the likeliest tokens of a state at
            ``where`` and their log-probabilities (P each); None: use the logits.
    """

    arrays: Arrays = NUMPY
    traces = False
    trace_of: Callable[..., Trace] = Trace
    encode: Callable[..., Any]
    best_tokens: Callable[[EditState], tuple[Array, Array]] | None = None

    def logits(self, head: str, state: EditState) -> Array:
        """Returns the logits of a head, of any floating type; those at padding are ignored.

        ``deletion``: of keeping (0) and deleting (1) each token, B × T × 2. ``placeholder``: of the
        number missing in each slot k between tokens k and k + 1, B × (T − 1) × (K + 1). ``token``:
        of the symbols at ``state.where``, P × V.
        """
        raise NotImplementedError

    def max_positions(self) -> tuple[int, int] | None:
        """Returns the longest source and target, in tokens; None: any."""
        return None

    def eval(self) -> Self:
        """Prepares for decoding, as ``nn.Module.eval`` does."""
        return self


def is_edit_model(model: object) -> TypeGuard[EditPolicy]:
    """Returns whether a model, or a class of models, edits; others write from left to right."""
    return hasattr(model, "trace_of")  # also one that fairseq has wrapped, to train it
