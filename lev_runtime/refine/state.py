"""Sentences while they are refined: what stands, what is finished, what happened.

The host knows how long each sentence is, and what it notes of them it reads at the end: so a device
is waited for where a decision is read, and nowhere else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

from ..history import EditHypothesis, Outcome, Phase, Termination, read_hypotheses
from .arrays import Array, Arrays
from .policy import Counts, EditState, Trace

#: of :class:`RefinementState`, what has a row for each sentence; some may be None
_ARRAYS = ("tokens", "lengths", "scores", "actions", "origin", "since", "cap", "rows", "seen")


@dataclass
class Edit:
    """A deletion or an insertion of placeholders that is decided and not yet applied."""

    action: Array  # the tokens that are kept, R × T, or the placeholders of each slot, R × (T − 1)
    lengths: Array  # R, tokens of each sentence afterwards
    scores: Array | None = None  # R × T, log-probability (nats) of deleting each token
    sizes: list[int] = field(default_factory=list)  # the lengths, on the host

    def select(self, rows: Array, stay: list[int]) -> "Edit":
        """Returns the edit of the sentences at ``rows``, which are ``stay`` on the host."""
        scores = None if self.scores is None else self.scores[rows]
        sizes = [self.sizes[row] for row in stay]
        return Edit(self.action[rows], self.lengths[rows], scores, sizes)


class RefinementState:
    """A shrinking batch of sentences, and notes of those that have left it.

    Attributes:
        tokens: B × T, long, <s> … </s> padded on the right.
        sizes: B numbers on the host, tokens of each sentence, <s> and </s> included.
        lengths: B, the same on the device.
        scores: B × T, log-probability (nats) of the action that put or kept each token.
        actions: B, the sum of the log-probabilities of all deletions and all tokens written.
        origin: B × T, long, a token's position in the draft; −1 where it was inserted.
        since: B × T, long, its position when the iteration began; −1 where it is newer. Noted for
            histories alone, else None.
        cap: B, tokens with <s> and </s> beyond which nothing is inserted.
        numbers: B numbers on the host, where each sentence stood in the batch that came in.
        rows: B, the same on the device.
        idle: B, on the host, whether this iteration has changed nothing so far.
        changed: by a head that has read the sentences, B, on the host, whether each has changed
            since.
        opened: placeholders in all. writing: the rows that have any, on the host.
        encoder_out: of the policy's encoder, row for row with ``tokens``.
        trace: ``tokens`` with what was deleted last; None where nothing was, or nobody reads it.
        seen: B × N × T, the tokens that N earlier iterations' revisions have left; None for none.
    """

    def __init__(
        self, tokens: Array, encoder_out: Any, pad: int, retain_history: bool, arrays: Arrays
    ) -> None:
        count = len(tokens)
        self.tokens = tokens
        self.encoder_out = encoder_out
        self.pad = pad
        self.arrays = arrays
        self.lengths = (tokens != pad).sum(1)
        self.scores = arrays.zeros_like(tokens)
        self.actions = arrays.zeros_like(self.lengths)
        self.origin = self._positions()
        self.since: Array | None = None
        self.rows = arrays.arange(count, tokens)
        self.cap = self.lengths
        self.numbers = list(range(count))
        self.sizes: list[int] = self.lengths.tolist()
        self.idle = [True] * count
        self.changed: dict[str, list[bool]] = {}
        self.opened = 0
        self.writing: tuple[int, ...] = ()
        self.seen: Array | None = None
        self.trace: Trace | None = None
        self.traced: list[int] = []  # tokens of each sentence of the trace
        self.outcomes: list[Outcome] = []
        self.phases: list[Phase] | None = None
        self.iteration = 0
        if retain_history:
            self.phases = [Phase("draft", 0, self.numbers, tokens, self.origin)]

    def _positions(self) -> Array:
        """Returns B × T, where each token stands; −1 for padding."""
        places = self.arrays.arange(self.tokens.shape[1], self.tokens)
        return self.arrays.xp.where(self.tokens != self.pad, places, -1)

    # iterations -------------------------------------------------------------------------------

    def begin_iteration(self) -> None:
        """Begins an iteration: what changes from now on, changes in it."""
        self.iteration += 1
        self.idle = [True] * len(self.numbers)
        if self.phases is not None:
            self.since = self._positions()

    def record(self, name: str, scores: Array | None = None) -> None:
        """Records the present tokens as those that a phase has left (:class:`.history.Step`)."""
        if self.phases is not None:
            phase = Phase(
                name,
                self.iteration,
                self.numbers,
                self.tokens,
                self.origin,
                self.since,
                scores,
            )
            self.phases.append(phase)

    # actions ----------------------------------------------------------------------------------

    def note_changes(self, sizes: list[int]) -> None:
        """Notes which sentences an edit, after which they have these ``sizes``, will change."""
        for row, (now, before) in enumerate(zip(sizes, self.sizes, strict=True)):
            if now == before:
                continue
            self.idle[row] = False
            for flags in self.changed.values():
                flags[row] = True

    def view(self, head: str, where: Array | None = None, places: Array | None = None) -> EditState:
        """Returns the sentences as a head reads them, and notes that it has read them.

        ``where``: B × T, bool, tokens to be written, and ``places``, P, the same flattened.
        """
        rows = range(len(self.numbers))
        changed = {name: tuple(compress(rows, flags)) for name, flags in self.changed.items()}
        total = sum(self.sizes)
        deleted = 0 if self.trace is None else sum(self.traced) - total
        counts = Counts(changed, total - len(rows), deleted, self.writing)
        self.changed[head] = [False] * len(self.numbers)
        trace = None if head == "deletion" else self.trace
        return EditState(self.tokens, self.encoder_out, trace, where, places, counts)

    def delete(self, deletion: Edit, traces: bool) -> None:
        """Deletes the tokens that are not kept, and the columns that hold nothing but padding.

        ``traces``: whether deleted tokens stay readable.
        """
        keep, width = deletion.action, max(deletion.sizes)
        self.trace = None
        is_changed = deletion.sizes != self.sizes
        if is_changed:
            deleted = (self.tokens != self.pad) & ~keep
            if traces:
                self.trace = Trace(self.tokens, deleted, self.arrays)
                self.traced = self.sizes
            assert deletion.scores is not None
            log_probs = self.arrays.masked_fill(deletion.scores, ~deleted, 0.0)
            self.actions = self.actions + log_probs.sum(1)
            self.lengths = deletion.lengths
            self.sizes = deletion.sizes
        if is_changed or width < self.tokens.shape[1]:
            compact = self.arrays.compaction(keep, width)
            self._move(compact)
            self.tokens = compact(self.tokens, self.pad)

    def _move(self, moved: Callable[[Array, float], Array]) -> None:
        """Moves scores and origins of tokens; ``moved``: B × T values and a padding → B × T'."""
        self.scores = moved(self.scores, 0.0)
        self.origin = moved(self.origin, -1)
        if self.since is not None:
            self.since = moved(self.since, -1)

    def insert(self, insertion: Edit, placeholder: int) -> None:
        """Inserts placeholders, as many in every slot as the edit says (B × (T − 1))."""
        counts, sizes = insertion.action, insertion.sizes
        totals = [now - before for now, before in zip(sizes, self.sizes, strict=True)]
        self.opened = sum(totals)
        self.writing = tuple(compress(range(len(totals)), totals))
        if not self.opened:
            return
        opened = self.arrays.opening(self.lengths, counts, max(sizes))
        self._move(lambda values, fill: opened(values, fill, fill))
        self.tokens = opened(self.tokens, placeholder, self.pad)
        self.lengths = insertion.lengths
        self.sizes = sizes
        if self.trace is not None:
            self.traced = [size + new for size, new in zip(self.traced, totals, strict=True)]
            self.trace = self.trace.opened(counts, self.tokens, self.pad, max(self.traced))

    def fill(self, where: Array, places: Array, tokens: Array, scores: Array) -> None:
        """Writes tokens, P, at ``where``, B × T, flattened ``places``; ``scores``: of each."""
        arrays = self.arrays
        self.tokens = arrays.put(self.tokens, places, tokens)
        self.scores = arrays.put(self.scores, places, scores)
        written = arrays.masked_fill(self.scores, ~where, 0.0)
        self.actions = self.actions + written.sum(1)

    # sentences leave --------------------------------------------------------------------------

    def finish(self, done: Sequence[bool], steps: int, reason: Termination) -> None:
        """Notes what stands as the outcome, after ``steps``, of the sentences that are ``done``."""
        if not any(done):
            return
        rows = {number: row for row, number in enumerate(self.numbers) if done[row]}
        outcome = Outcome(rows, steps, reason, self.tokens, self.origin, self.scores, self.actions)
        self.outcomes.append(outcome)

    def hypotheses(self) -> list[EditHypothesis]:
        """Returns the hypotheses, in the order of the batch, once all sentences are finished."""
        return read_hypotheses(self.outcomes, self.phases or [], self.pad, self.arrays)

    def drop(self, done: Sequence[bool]) -> tuple[Array, list[int]] | None:
        """Drops the sentences that are ``done``.

        Returns:
            the rows of those that stay, on the device and on the host; None where nobody goes or
            nobody stays.
        """
        if not any(done):
            return None
        stays = [not leaves for leaves in done]
        for name in ("numbers", "sizes", "idle", "traced"):
            values = getattr(self, name)
            setattr(self, name, list(compress(values, stays)))
        for name, flags in self.changed.items():
            self.changed[name] = list(compress(flags, stays))
        if not any(stays):
            return None
        stay = list(compress(range(len(stays)), stays))
        staying = self.arrays.as_tensor(stay, self.tokens)
        for name in _ARRAYS:
            values = getattr(self, name)
            if values is not None:
                setattr(self, name, values[staying])
        if self.trace is not None:
            self.trace = self.trace.select(staying)
        self.encoder_out = self.encoder_out.select(staying)
        return staying, stay

    # states that come back --------------------------------------------------------------------

    def remember(self) -> None:
        """Notes the present tokens as those that a deletion has left."""
        now = self.tokens[:, None]
        if self.seen is None:
            self.seen = now
        else:
            states = self._alike(self.seen, now)
            self.seen = self.arrays.xp.concatenate(states, 1)

    def seen_before(self, tokens: Array) -> tuple[Array, Array]:
        """Returns whether the same tokens (B × T) were seen at any time (B, bool), and last."""
        assert self.seen is not None, "nothing was remembered"
        seen, now = self._alike(self.seen, tokens[:, None])
        same = (seen == now).all(2)
        return same.any(1), same[:, -1]

    def _alike(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Pads the narrower one, B × any × T."""
        width = max(first.shape[2], second.shape[2])

        def widened(values: Array) -> Array:
            return self.arrays.pad(values, 0, width - values.shape[2], self.pad)

        return widened(first), widened(second)
