"""Sentences while they are refined: what stands, what is finished, what happened.

The host knows how long each sentence is, and what it notes of them it reads at the end: so a device
is waited for where a decision is read, and nowhere else.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ....ops.edits import Compaction, Opening
from ....ops.transfer import to_device
from ..trace import Trace
from .history import Termination
from .policy import Facts
from .records import EditHypothesis, Outcome, Phase, read_hypotheses


class RefinementState:
    """A shrinking batch of sentences, and notes of those that have left it.

    Attributes:
        tokens: B × T, long, <s> … </s> padded on the right.
        sizes: B numbers on the host, tokens of each sentence, <s> and </s> included.
        lengths: B, the same on the device.
        scores: B × T, log-probability (nats) of the action that put or kept each token.
        deleting, kept: B × T, of the tokens before the last deletion, the log-probability that each
            is deleted, and whether it was kept, bool.
        actions: B, the sum of the log-probabilities of all deletions and all tokens written.
        origin: B × T, long, a token's position in the draft; −1 where it was inserted.
        cap: B, tokens with <s> and </s> beyond which nothing is inserted.
        numbers: B numbers on the host, where each sentence stood in the batch that came in.
        rows: B, the same on the device.
        changed: B, on the host, whether the last deletion has taken a token.
        memory: what the policy's encoder left, row for row with ``tokens``.
        trace: ``tokens`` with what was deleted last; None where nothing was, or nobody reads it.
        seen: B × N × T, the tokens that N earlier iterations' deletions have left; None for none.
    """

    def __init__(self, tokens: Tensor, memory: Any, pad: int, retain_history: bool) -> None:
        count, device = tokens.size(0), tokens.device
        real = tokens.ne(pad)
        self.tokens, self.memory, self.pad = tokens, memory, pad
        self.lengths = real.sum(1)
        self.scores = torch.zeros(tokens.shape, dtype=torch.float, device=device)
        self.deleting, self.kept = torch.zeros_like(self.scores), real
        self.actions = torch.zeros(count, dtype=torch.float, device=device)
        places = torch.arange(tokens.size(1), device=device).expand(count, -1)
        self.origin = places.masked_fill(~real, -1)
        self.rows = torch.arange(count, device=device)
        self.cap = self.lengths
        self.numbers = list(range(count))
        self.sizes: list[int] = self.lengths.tolist()
        self.changed = [False] * count
        self.seen: Tensor | None = None
        self.trace: Trace | None = None
        self.traced: list[int] = []  # tokens of each sentence of the trace
        self.outcomes: list[Outcome] = []
        self.phases: list[Phase] | None = [] if retain_history else None
        self.record("draft")

    # actions ----------------------------------------------------------------------------------

    def keep(
        self,
        keep: Tensor,
        kept: Sequence[int],
        traced: bool = False,
        moved: Compaction | None = None,
    ) -> None:
        """Deletes the tokens that are not kept, with a trace if asked for.

        keep: B × T, bool. kept: of each sentence, how many are. moved: of ``keep``, if known.
        """
        self.changed = [now < before for now, before in zip(kept, self.sizes, strict=True)]
        self.kept, self.trace = keep, None
        if not any(self.changed):
            return
        gone = self.tokens.ne(self.pad) & ~keep
        if traced:
            self.trace, self.traced = Trace(self.tokens, gone), self.sizes
        self.actions = self.actions + self.deleting.masked_fill(~gone, 0.0).sum(1)
        self.move(moved or Compaction(keep, max(kept)))
        self.lengths, self.sizes = keep.sum(1), list(kept)

    def move(self, moved: Compaction) -> None:
        """Leaves of every sentence what ``moved`` (of B × T) keeps."""
        self.scores = moved(self.scores, 0.0)
        self.origin = moved(self.origin, -1)
        self.tokens = moved(self.tokens, self.pad)

    def open(self, counts: Tensor, totals: Sequence[int], placeholder: int) -> None:
        """Inserts placeholders, ``counts`` (B × (T − 1)) of them in every slot, ``totals`` (B) of
        them in every sentence."""
        self.sizes = [size + new for size, new in zip(self.sizes, totals, strict=True)]
        opened = Opening(self.lengths, counts, max(self.sizes))
        self.scores = opened(self.scores, 0.0, 0.0)
        self.origin = opened(self.origin, -1, -1)
        self.tokens = opened(self.tokens, placeholder, self.pad)
        self.lengths = self.lengths + counts.sum(1)
        if self.trace is not None:
            self.traced = [size + new for size, new in zip(self.traced, totals, strict=True)]
            self.trace = self.trace.opened(counts, self.tokens, self.pad, max(self.traced))

    def fill(self, where: Tensor, places: Tensor, tokens: Tensor, scores: Tensor) -> None:
        """Writes tokens (P) and their log-probabilities at ``where`` (B × T, P true), whose
        ``places`` in the batch laid flat are known."""
        self.origin = self.origin.masked_fill(where, -1)
        self.tokens = self.tokens.flatten().index_copy(0, places, tokens).view_as(where)
        scores = scores.to(self.scores.dtype)
        self.scores = self.scores.flatten().index_copy(0, places, scores).view_as(where)
        self.actions = self.actions + self.scores.masked_fill(~where, 0.0).sum(1)

    def facts(self, places: Tensor | None = None) -> Facts:
        """What the host knows of the tokens; ``places``: where they are to be written."""
        changed = tuple(row for row, differs in enumerate(self.changed) if differs)
        gone = sum(self.traced) - sum(self.sizes) if self.trace is not None else 0
        return Facts(changed, sum(self.sizes) - len(self.sizes), gone, places)

    # what is noted ----------------------------------------------------------------------------

    def record(self, phase: str, mask: Tensor | None = None, scores: Tensor | None = None) -> None:
        """Notes the present tokens as the outcome of a phase (:class:`.records.Step`)."""
        if self.phases is not None:
            tensors = self.tokens, self.origin, mask, scores
            self.phases.append(Phase(phase, self.numbers, *tensors))

    def finish(self, done: Sequence[bool], steps: int, reason: Termination) -> None:
        """Notes what stands as the outcome, after ``steps``, of the sentences that are ``done``."""
        leaving = {number: row for row, number in enumerate(self.numbers) if done[row]}
        if leaving:
            tensors = self.tokens, self.origin, self.scores, self.actions
            self.outcomes.append(Outcome(leaving, steps, reason, *tensors))

    def hypotheses(self) -> list[EditHypothesis]:
        """Of the sentences, in the order of the batch that came in, once all are finished."""
        return read_hypotheses(self.outcomes, self.phases or [], self.pad)

    # the batch shrinks ------------------------------------------------------------------------

    def drop(self, done: Sequence[bool], *companions: Tensor) -> list[Tensor]:
        """Lets the sentences that are ``done`` go; returns the rows of the companions (B × any)
        that stay."""
        if not any(done):
            return list(companions)
        stay = [row for row, out in enumerate(done) if not out]
        for name in ("numbers", "sizes", "changed", "traced"):
            values = getattr(self, name)
            setattr(self, name, [values[row] for row in stay] if values else [])
        if not stay:
            return list(companions)
        staying = to_device(stay, self.tokens.device)
        names = ["tokens", "lengths", "scores", "actions", "origin", "cap", "rows"]
        # of a deletion nothing but a history is made any more
        names += [] if self.phases is None else ["deleting", "kept"]
        for name in names:
            setattr(self, name, getattr(self, name).index_select(0, staying))
        self.seen = None if self.seen is None else self.seen.index_select(0, staying)
        self.trace = None if self.trace is None else self.trace.select(staying)
        self.memory = self.memory.select(staying)
        return [companion.index_select(0, staying) for companion in companions]

    def narrow(self) -> None:
        """Leaves out columns that hold nothing but padding."""
        width = max(self.sizes)
        if width < self.tokens.size(1):
            for name in ("tokens", "scores", "origin"):
                setattr(self, name, getattr(self, name)[:, :width].contiguous())

    # states that come back --------------------------------------------------------------------

    def remember(self) -> None:
        """Notes the present tokens as those that a deletion has left."""
        now = self.tokens.unsqueeze(1)
        self.seen = now if self.seen is None else torch.cat(self._alike(self.seen, now), 1)

    def seen_before(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Whether the same tokens (B × T) were seen at any time (B, bool), and at the last."""
        assert self.seen is not None, "nothing was remembered"
        seen, now = self._alike(self.seen, tokens.unsqueeze(1))
        same = (seen == now).all(2)
        return same.any(1), same[:, -1]

    def _alike(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Both, B × any × T, with padding behind the narrower."""
        width = max(first.size(2), second.size(2))
        first, second = (
            torch.nn.functional.pad(side, (0, width - side.size(2)), value=self.pad)
            for side in (first, second)
        )
        return first, second


def equal_rows(a: Tensor, b: Tensor, pad: int) -> Tensor:
    """B × T and B × U, padded on the right → B, bool: the same sentence."""
    width = min(a.size(1), b.size(1))
    same = (a[:, :width] == b[:, :width]).all(1)
    for longer in (a, b):
        if longer.size(1) > width:
            same = same & longer[:, width:].eq(pad).all(1)
    return same


def has_gaps(real: Tensor) -> bool:
    """Whether padding stands before a real token in any row of R × T, bool."""
    return bool((real[:, 1:] & ~real[:, :-1]).any())
