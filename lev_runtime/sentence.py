"""A sentence while it is refined: what stands, where it comes from, what was decided.

Shapes: T tokens that stand, <s> and </s> included; slot k lies between tokens k and k + 1; K the
most tokens that can be missing in one slot. Log-probabilities are in nats.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .history import Termination


class Trace(NamedTuple):
    """The tokens that stand and, before the slot that they leave, those just deleted.

    tokens, deleted: all of them in order, and which of them were deleted, bool.
    """

    tokens: np.ndarray
    deleted: np.ndarray

    def opened(self, counts: np.ndarray, placeholder: int) -> "Trace":
        """After an insertion of ``counts`` (T − 1) placeholders, which stand behind what was
        deleted in their slot."""
        standing = np.flatnonzero(~self.deleted)
        before = np.repeat(standing[1:], counts)
        return Trace(
            np.insert(self.tokens, before, placeholder), np.insert(self.deleted, before, False)
        )


class Step(NamedTuple):
    """An iteration that changed something: before it, what was deleted, after it, what is new.

    deleting: log-probability that each token of ``before`` is deleted. scores: of what put or kept
    each of ``after``. origins as :attr:`Sentence.origin`.
    """

    before: np.ndarray
    origin_before: np.ndarray
    deleted: np.ndarray
    deleting: np.ndarray
    after: np.ndarray
    origin_after: np.ndarray
    inserted: np.ndarray
    scores: np.ndarray


@dataclass(eq=False)
class Sentence:
    """One candidate for a sentence.

    Attributes:
        row: of its source in the memory. candidate: its number among those of its source. key: of
            the noise.
        tokens: T. origin: T, a token's position in the draft; −1 where it was inserted.
        scores: T, log-probability of the action that put or kept each token.
        actions: sum of the log-probabilities of all deletions and all tokens written.
        cap: tokens beyond which nothing is inserted.
        marks: bits of :mod:`.markup` of the draft's tokens, None for no order. removed: sequences
            of tokens that have to go.
        inserted: T, bool, what the last insertion has brought.
        changed: whether the last deletion has taken a token.
        trace: of the last deletion, None where it took nothing, or nobody reads it.
        deletion, slots: T × 2 and (T − 1) × (K + 1), logits of the present tokens; None: unknown.
        seen: the tokens that earlier deletions have left, as bytes, and the last of them.
        steps, terminated: how many iterations there were, and why no more.
    """

    row: int
    candidate: int
    key: int
    tokens: np.ndarray
    cap: int
    marks: np.ndarray | None = None
    removed: list[list[int]] = field(default_factory=list)
    origin: np.ndarray = field(init=False)
    scores: np.ndarray = field(init=False)
    actions: float = 0.0
    changed: bool = False
    trace: Trace | None = None
    deletion: np.ndarray | None = None
    slots: np.ndarray | None = None
    seen: set[bytes] = field(default_factory=set)
    last: bytes = b""
    steps: int = 0
    terminated: Termination | None = None
    score: float = 0.0
    history: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.origin = np.arange(len(self.tokens))
        self.scores = np.zeros(len(self.tokens), np.float32)
        self.before = self.tokens, self.origin
        self.gone = self.inserted = np.zeros(len(self.tokens), bool)
        self.deleting = self.scores

    # actions ------------------------------------------------------------------------------------

    def keep(self, keep: np.ndarray, traces: bool) -> None:
        """Deletes the tokens that are not kept (T, bool), with a trace if asked for."""
        self.before, self.gone, self.trace = (self.tokens, self.origin), ~keep, None
        self.changed = bool(self.gone.any())
        self.inserted = np.zeros(int(keep.sum()), bool)
        if not self.changed:
            return
        if traces:
            self.trace = Trace(self.tokens, self.gone)
        self.actions += float(self.deleting[self.gone].sum())
        self.tokens, self.origin = self.tokens[keep], self.origin[keep]
        self.scores = self.scores[keep]
        self.deletion = self.slots = None

    def open(self, counts: np.ndarray, placeholder: int) -> None:
        """Inserts placeholders, ``counts`` (T − 1) of them in every slot."""
        size = len(self.tokens) + int(counts.sum())
        places = np.arange(len(self.tokens))
        places[1:] += counts.cumsum()
        self.tokens = _spread(self.tokens, places, size, placeholder)
        self.origin = _spread(self.origin, places, size, -1)
        self.scores = _spread(self.scores, places, size, 0.0)
        self.inserted = self.tokens == placeholder
        self.deletion = self.slots = None
        if self.trace is not None:
            self.trace = self.trace.opened(counts, placeholder)

    def fill(self, tokens: np.ndarray, scores: np.ndarray) -> None:
        """Writes tokens with their log-probabilities in the place of what was inserted."""
        self.tokens[self.inserted], self.scores[self.inserted] = tokens, scores
        self.actions += float(scores.sum())

    # notes --------------------------------------------------------------------------------------

    def remember(self) -> None:
        """Notes the present tokens as those that a deletion has left."""
        self.last = self.tokens.tobytes()
        self.seen.add(self.last)

    def finish(self, steps: int, reason: Termination) -> None:
        """Ends: what stands is the outcome."""
        self.steps, self.terminated = steps, reason

    def record(self) -> None:
        """Notes an iteration that has ended."""
        before = *self.before, self.gone, self.deleting
        self.history.append(Step(*before, self.tokens, self.origin, self.inserted, self.scores))

    def standing(self, bit: int) -> np.ndarray:
        """T, bool: tokens that stand since the draft and carry the mark."""
        assert self.marks is not None
        marked = (self.marks & bit).astype(bool)
        return (self.origin >= 0) & marked[self.origin]


def _spread(values: np.ndarray, places: np.ndarray, size: int, fill: float) -> np.ndarray:
    """Values at their new places among ``size``, and ``fill`` elsewhere."""
    wide = np.full(size, fill, values.dtype)
    wide[places] = values
    return wide
