"""Decoding as fairseq's ``levenshtein_transformer`` does it, token for token.

Any symbol may be written. Where ``<pad>`` is, the sentence is cut short, and its last token may
become ``</s>`` later. Shapes: R candidates, T tokens each, G of R have gaps.
"""

from itertools import compress
from operator import not_
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ....ops.edits import Compaction, limit_insertions
from ..markup import KEEP
from .loop import Decoding
from .policy import Facts
from .state import equal_rows

SHORTEST = 2  #: tokens; nothing is deleted from a sentence that has no more


class Gaps(NamedTuple):
    """Padding before the last token of sentences that deletion passes over: ``<s> <pad> a``.

    rows: G, long. tokens: G × T, with the padding. last: G, the column of the last token.
    """

    rows: Tensor
    tokens: Tensor
    last: Tensor


class StockDecoding(Decoding):
    """fairseq's loop: it stops when a whole iteration changes nothing.

    There is one iteration more than asked for, ``<unk>`` is refilled, and twice the source is a
    soft limit.

    Attributes:
        width: R, columns that stock has for a sentence which it decodes alone, at the beginning
            of an iteration; those behind its tokens are padding.
        columns: R, those at its end.
        gaps: of the sentences at the beginning of an iteration, None for none.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # a trace knows no padding inside a sentence; stock's models leave none
        self.never = [self.placeholder, self.pad] if self.policy.traces else [self.placeholder]
        self.width = self.columns = self.state.lengths
        self.gaps: Gaps | None = None
        self.unknown = 0

    def _run(self) -> None:
        state, adaptive = self.state, self.options.adaptive
        gapped = self._gapped().tolist()
        for step in range(self.options.max_iter + 1):
            before = state.tokens
            self._close_gaps(any(gapped))
            keep = self._keep()
            state.keep(keep, keep.sum(1).tolist(), self.policy.traces)
            state.narrow()
            state.record("delete", state.kept, state.deleting)
            counts = self._counts(step)
            self._end(counts)
            totals, unknown = torch.stack([counts.sum(1), self._refilled().sum(1)]).tolist()
            self.unknown = sum(unknown)
            self._insert(counts, totals, step)
            state.lengths = state.tokens.ne(self.pad).sum(1)
            # before stock compares the state with that before, it makes both as wide
            self.width = torch.maximum(self.width, self.columns) if adaptive else self.columns
            same = equal_rows(state.tokens, before, self.pad)
            flags = torch.stack([same, state.lengths, self._gapped()])
            done, state.sizes, gapped = flags.tolist()
            if step == self.options.max_iter:
                state.finish([True] * len(done), step, "max_iterations")
                return
            if adaptive:
                finished = list(map(bool, done))
                state.finish(finished, step, "unchanged")
                [self.width] = state.drop(finished, self.width)
                gapped = list(compress(gapped, map(not_, finished)))
            if not state.numbers:
                return

    # padding inside sentences -----------------------------------------------------------------

    def _last(self) -> Tensor:
        """R: the columns of the last tokens."""
        real = self.state.tokens.ne(self.pad)
        return (real * torch.arange(1, real.size(1) + 1, device=real.device)).amax(1) - 1

    def _gapped(self) -> Tensor:
        """R, bool: sentences with padding between tokens."""
        return self._last() >= self.state.lengths

    def _close_gaps(self, any_gapped: bool) -> None:
        """Removes the padding between tokens, as a deletion does, and notes where none is made."""
        state, self.gaps = self.state, None
        if not any_gapped:
            return
        last = self._last()
        rows = ((last >= state.lengths) & (state.lengths <= SHORTEST)).nonzero().squeeze(1)
        if len(rows):
            self.gaps = Gaps(rows, state.tokens[rows], last[rows])
        state.move(Compaction(state.tokens.ne(self.pad)))

    def _keep(self) -> Tensor:
        """Which tokens are kept, R × T, bool."""
        passed = (self.state.lengths <= SHORTEST).unsqueeze(1)
        return super()._keep() | (self.state.tokens.ne(self.pad) & passed)

    def _placeholder_logits(self) -> Tensor:
        """Of the number of tokens missing in each slot; a gap has been read by the last's."""
        logits = super()._placeholder_logits()
        if self.gaps is not None:
            rows, tokens, last = self.gaps
            memory = self.policy.with_facts(self.state.memory.select(rows), Facts())
            slots = self.policy.placeholder_logits(tokens, memory).float()
            logits[rows, 0] = slots[torch.arange(len(rows), device=rows.device), last - 1]
        return logits

    def _end(self, counts: Tensor) -> None:
        """A token before padding becomes ``</s>`` before slots are opened."""
        state, width = self.state, self.width
        ending = torch.zeros_like(state.tokens, dtype=torch.bool)
        if self.gaps is not None:
            rows, _, last = self.gaps
            ending[rows, 0] = True
            width = width.index_add(0, rows, 1 - last)
        padded = (width > state.lengths) & self._growing()
        column = torch.arange(ending.size(1), device=ending.device)
        ending |= padded.unsqueeze(1) & (column == state.lengths.unsqueeze(1) - 1)
        state.tokens = state.tokens.masked_fill(ending, self.eos)
        self.columns = state.lengths + counts.sum(1)

    def _fill(self, where: Tensor, places: Tensor, step: int) -> None:
        """Writes tokens, and cuts sentences to as many columns as they have tokens.

        Where padding was written between tokens, the last ones are lost.
        """
        super()._fill(where, places, step)
        state = self.state
        self.columns = state.tokens.ne(self.pad).sum(1)
        column = torch.arange(where.size(1), device=where.device)
        beyond = column >= self.columns.unsqueeze(1)
        state.tokens = state.tokens.masked_fill(beyond, self.pad)

    # other rules ------------------------------------------------------------------------------

    def _growing(self) -> Tensor:
        """R, bool: sentences that are short enough to insert into."""
        return self.state.lengths < self.state.cap

    def _limited(self, counts: Tensor) -> Tensor:
        """What is left of ``counts``: a sentence that may grow gets beyond the limit."""
        counts = torch.minimum(counts, self.state.cap.unsqueeze(1))
        counts = counts.masked_fill(~self._growing().unsqueeze(1), 0)
        limits = self.policy.max_positions()
        if limits is None:
            return counts
        return limit_insertions(counts, limits[1] - self.state.lengths)

    def _refilled(self) -> Tensor:
        """R × T, bool: unknown symbols that are written anew."""
        state = self.state
        unknown = state.tokens.eq(self.unk)
        if self.constraints is not None:
            unknown = unknown & ~self.constraints.standing(KEEP, state.origin, state.rows)
        return unknown

    def _unwritten(self, opened: int) -> tuple[Tensor, int]:
        """Where tokens are to be written: at placeholders and at unknown symbols."""
        placeholders, _ = super()._unwritten(opened)
        return placeholders | self._refilled(), opened + self.unknown

    def _length_cap(self, source: Tensor, draft: Tensor) -> Tensor:
        """R: tokens, <s> and </s> included, from which on a sentence does not grow."""
        return (2 * source.ne(self.pad).sum(1)).clamp(min=10)
