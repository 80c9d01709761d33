"""Sentences while they are refined: what stands, what is finished, what happened."""

from typing import Any, NotRequired, TypedDict

import torch
from torch import Tensor

from ....data.batch import Hypothesis
from ....ops.edits import Compaction, Opening
from ..trace import Trace
from .history import Termination


class Step(TypedDict):
    """A sentence after a phase (draft, delete, placeholder or token), its tensors (T) on the host.

    mask: for ``delete``, which tokens of the state before were kept; for ``token``, which of the
    present ones are new. scores: log-probabilities (nats) of deleting each token of the state
    before, or of what put or kept the present ones.
    """

    phase: str
    tokens: Tensor
    origin: Tensor
    mask: NotRequired[Tensor]
    scores: NotRequired[Tensor]


class EditHypothesis(Hypothesis):
    """What was written for a sentence; see :meth:`.generator.RefinementGenerator.generate`."""

    actions: float
    alignment: None
    attention: None
    origin: Tensor
    steps: int
    terminated: Termination
    history: list[Step]


class RefinementState:
    """A shrinking batch of sentences, and the hypotheses of those that have left it.

    Attributes:
        tokens: B × T, long, <s> … </s> padded on the right.
        scores: B × T, log-probability (nats) of the action that put or kept each token.
        deleting: B × T, log-probability of deleting each token.
        actions: B, the sum of the log-probabilities of all deletions and all tokens written.
        origin: B × T, long, a token's position in the draft; −1 where it was inserted.
        rows: B, where each sentence stood in the batch that came in.
        memory: what the policy's encoder left, row for row with ``tokens``.
        trace: ``tokens`` with what was deleted last; None where nothing was, or nobody reads it.
        seen: the tokens (B × T) that every earlier iteration's deletion has left.
        finished: hypotheses in the order of the batch that came in; None while unfinished.
    """

    def __init__(self, tokens: Tensor, memory: Any, pad: int, retain_history: bool) -> None:
        size, device = tokens.size(0), tokens.device
        self.tokens, self.memory, self.pad = tokens, memory, pad
        self.scores = torch.zeros(tokens.shape, dtype=torch.float, device=device)
        self.deleting = torch.zeros_like(self.scores)
        self.actions = torch.zeros(size, dtype=torch.float, device=device)
        self.origin = torch.arange(tokens.size(1), device=device).repeat(size, 1)
        self.rows = torch.arange(size, device=device)
        self.seen: list[Tensor] = []
        self.trace: Trace | None = None
        self.finished: list[EditHypothesis | None] = [None] * size
        self.history: list[list[Step]] | None = None
        if retain_history:
            self.history = [[] for _ in range(size)]
            self.record("draft")

    @property
    def lengths(self) -> Tensor:
        """B, tokens of each sentence, <s> and </s> included."""
        return self.tokens.ne(self.pad).sum(1)

    def keep(self, keep: Tensor, traced: bool = False) -> None:
        """Deletes the tokens that are not kept (B × T, bool), with a trace if asked for."""
        real = self.tokens.ne(self.pad)
        self.trace = None
        if traced and bool((real & ~keep).any()):
            self.trace = Trace(self.tokens, real & ~keep)
        moved = Compaction(keep & real)
        self.actions = self.actions + self.deleting.masked_fill(keep | ~real, 0.0).sum(1)
        self.scores = moved(self.scores, 0.0)
        self.origin = moved(self.origin, -1)
        self.tokens = moved(self.tokens, self.pad)

    def open(self, counts: Tensor, placeholder: int) -> None:
        """Inserts placeholders, ``counts`` (B × (T − 1)) of them in every slot."""
        opened = Opening(self.lengths, counts)
        self.scores = opened(self.scores, 0.0, 0.0)
        self.origin = opened(self.origin, -1, -1)
        self.tokens = opened(self.tokens, placeholder, self.pad)
        if self.trace is not None:
            self.trace = self.trace.opened(counts, self.tokens, self.pad)

    def fill(self, where: Tensor, tokens: Tensor, scores: Tensor) -> None:
        """Writes tokens (P) and their log-probabilities at ``where`` (B × T, P true)."""
        self.origin = self.origin.masked_fill(where, -1)
        self.tokens = self.tokens.masked_scatter(where, tokens)
        self.scores = self.scores.masked_scatter(where, scores.to(self.scores.dtype))
        self.actions = self.actions + self.scores.masked_fill(~where, 0.0).sum(1)

    def record(self, phase: str, mask: Tensor | None = None) -> None:
        """Notes the present tokens as the outcome of a phase (:class:`Step`)."""
        if self.history is None:
            return
        scores = (self.deleting if phase == "delete" else self.scores).cpu()
        tokens, origin = self.tokens.cpu(), self.origin.cpu()
        marks = None if mask is None else mask.cpu()
        for i, row in enumerate(self.rows.tolist()):
            real = tokens[i].ne(self.pad)
            entry: Step = {"phase": phase, "tokens": tokens[i][real], "origin": origin[i][real]}
            if marks is not None:
                # a mask over deleted tokens is as long as the state before them
                states = [entry] if phase == "token" else self.history[row][-1:]
                size = len(states[0]["tokens"])
                entry["mask"], entry["scores"] = marks[i][:size], scores[i][:size]
            self.history[row].append(entry)

    def finish(
        self, done: Tensor, steps: int, reason: Termination, *companions: Tensor
    ) -> list[Tensor]:
        """Lets the sentences at ``done`` (B, bool) leave with what stands now, after ``steps``;
        returns the rows of the companions (B × any) that stay."""
        if not bool(done.any()):
            return list(companions)
        leaving, staying = done.nonzero().squeeze(1), (~done).nonzero().squeeze(1)
        state = (self.tokens, self.origin, self.scores, self.rows, self.actions)
        tokens, origin, scores, rows, actions = (one[leaving].cpu() for one in state)
        for i, (row, action) in enumerate(zip(rows.tolist(), actions.tolist())):
            real = tokens[i].ne(self.pad)
            own = scores[i][real]
            self.finished[row] = {
                "tokens": tokens[i][real],
                "positional_scores": own,
                "score": float(own.mean()),
                "actions": action,
                "alignment": None,
                "attention": None,
                "origin": origin[i][real],
                "steps": steps,
                "terminated": reason,
                "history": self.history[row] if self.history is not None else [],
            }
        for name in ("tokens", "scores", "actions", "deleting", "origin", "rows"):
            setattr(self, name, getattr(self, name).index_select(0, staying))
        self.seen = [tokens.index_select(0, staying) for tokens in self.seen]
        self.trace = None if self.trace is None else self.trace.select(staying)
        if len(staying):
            self.memory = self.memory.select(staying)
        return [companion.index_select(0, staying) for companion in companions]

    def seen_before(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Whether the same tokens (B × T) were seen at any time (B, bool), and at the last."""
        again = last = torch.zeros(tokens.size(0), dtype=torch.bool, device=tokens.device)
        for earlier in self.seen:
            last = equal_rows(tokens, earlier, self.pad)
            again = again | last
        return again, last


def equal_rows(a: Tensor, b: Tensor, pad: int) -> Tensor:
    """B × T and B × U, padded on the right → B, bool: the same sentence."""
    width = min(a.size(1), b.size(1))
    same = (a[:, :width] == b[:, :width]).all(1)
    for longer in (a, b):
        if longer.size(1) > width:
            same = same & longer[:, width:].eq(pad).all(1)
    return same
