"""Decoding as fairseq's ``levenshtein_transformer`` does it, token for token.

Any symbol may be written. Where ``<pad>`` is, the sentence is cut short, and its last token may
become ``</s>`` later. Shapes: R candidates, T tokens each, G of R have gaps.
"""

from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from lev_runtime.decoding import Decoding
from lev_runtime.errors import UserError
from lev_runtime.markup import KEEP
from lev_runtime.processors import Places, Processor, limit_insertions
from lev_runtime.records import EditHypothesis

from ....ops.edits import Compaction, equal_rows

if TYPE_CHECKING:
    from lev_runtime.operations import Decision, Operation

STOCK_OPERATIONS = ["deletion", "placeholder", "token"]
SHORTEST = 2  #: tokens; nothing is deleted from a sentence that has no more


class Gaps(NamedTuple):
    """Padding before the last token of sentences that deletion passes over: ``<s> <pad> a``.

    rows: G, long. tokens: G × T, with the padding. last: G, the column of the last token.
    """

    rows: Tensor
    tokens: Tensor
    last: Tensor


class KeptShort(Processor):
    """Deletion: nothing of a sentence that has no more than ``<s>`` and ``</s>``, or two others."""

    def action(
        self, decoding: Decoding, action: Tensor, scores: Tensor | None, places: Places | None
    ) -> Tensor:
        """R × T, bool: deleted tokens."""
        return action & (decoding.state.lengths > SHORTEST).unsqueeze(1)


class StockDecoding(Decoding):
    """fairseq's loop: it stops when a whole iteration changes nothing.

    There is one iteration more than asked for, ``<unk>`` is refilled, and twice the source is a
    soft limit.

    Attributes:
        width: R, columns that stock has for a sentence which it decodes alone, at the beginning
            of an iteration; those behind its tokens are padding.
        columns: R, those at its end.
        gaps: of the sentences at the beginning of an iteration, None for none.
        refilled_count: unknown symbols that are written anew, in all.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        names = [operation.name for operation in self.operations]
        if names != STOCK_OPERATIONS:
            raise UserError(
                "--stock-decoding needs a model with --edit-operations delete,insert,fill"
            )
        self.processors["deletion"].append(KeptShort())
        self.width = self.columns = self.state.lengths
        self.gaps: Gaps | None = None
        self.refilled_count = 0

    def run(self) -> list[EditHypothesis]:
        """fairseq's loop: one hypothesis for every row, in order."""
        state = self.state
        adaptive = self.options.adaptive
        last = self.options.max_iter
        has_gaps = self._gapped().tolist()
        for step in range(last + 1):
            before = state.tokens
            state.begin_iteration()
            state.changed = {}  # ends and padding change without a decision
            self._close_gaps(any(has_gaps))
            for operation in self.operations:
                decision = operation.decide(self, step)
                if operation.stage == "revise":
                    self.read(decision)
                elif operation.stage == "open":
                    self._end(decision)
                    self._read_placeholders(decision)
                operation.act(self, decision)
                if operation.stage == "write" and len(decision.action):
                    self._cut()
                state.record(operation, decision)
            state.close_iteration()
            state.lengths = state.tokens.ne(self.pad).sum(1)
            # before stock compares the state with that before, it makes both as wide
            self.width = torch.maximum(self.width, self.columns) if adaptive else self.columns
            same = equal_rows(state.tokens, before, self.pad)
            flags = torch.stack([same, state.lengths, self._gapped()])
            is_same, state.sizes, has_gaps = flags.tolist()
            if step == last:
                break
            if adaptive:
                done = list(map(bool, is_same))
                has_gaps = list(compress(has_gaps, map(not_, done)))
                self._leave(done, step)
            if not state.numbers:
                return state.hypotheses()
        state.finish([True] * len(state.numbers), last, "max_iterations")
        return state.hypotheses()

    def _leave(self, done: list[bool], step: int) -> None:
        """Sentences that an iteration did not change leave."""
        self.state.finish(done, step, "unchanged")
        staying = self.state.drop(done)
        if staying is not None:
            self.width = self.width.index_select(0, staying[0])

    def _read_placeholders(self, decision: "Decision") -> None:
        """Tells the host how many placeholders there will be, and how many unknown symbols."""
        counts = torch.stack([decision.lengths, self._refilled().sum(1)])
        decision.sizes, refilled = counts.tolist()
        self.refilled_count = sum(refilled)
        self.read(decision)

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
        state = self.state
        self.gaps = None
        if not any_gapped:
            return
        last = self._last()
        rows = ((last >= state.lengths) & (state.lengths <= SHORTEST)).nonzero().squeeze(1)
        if len(rows):
            self.gaps = Gaps(rows, state.tokens[rows], last[rows])
        state.move(Compaction(state.tokens.ne(self.pad)))

    def logits(
        self,
        operation: "Operation",
        where: Tensor | None = None,
        places: Tensor | None = None,
        writing: tuple[int, ...] | None = None,
    ) -> Tensor:
        """What the policy says; of slots a gap has been read by the last's."""
        logits = super().logits(operation, where, places, writing)
        if operation.stage != "open" or self.gaps is None:
            return logits
        rows, tokens, last = self.gaps
        slots = self.policy.logits(operation, tokens, self.state.memory.select(rows)).float()
        logits = logits.float()
        logits[rows, 0] = slots[torch.arange(len(rows), device=rows.device), last - 1]
        return logits

    def _end(self, decision: "Decision") -> None:
        """A token before padding becomes ``</s>`` before slots are opened."""
        state = self.state
        width = self.width
        ending = torch.zeros_like(state.tokens, dtype=torch.bool)
        if self.gaps is not None:
            rows, _, last = self.gaps
            ending[rows, 0] = True
            width = width.index_add(0, rows, 1 - last)
        padded = (width > state.lengths) & self._growing()
        column = torch.arange(ending.size(1), device=ending.device)
        ending |= padded.unsqueeze(1) & (column == state.lengths.unsqueeze(1) - 1)
        state.tokens = state.tokens.masked_fill(ending, self.symbols.eos)
        self.columns = decision.lengths

    def _cut(self) -> None:
        """Cuts sentences to as many columns as they have tokens.

        Where padding was written between tokens, the last ones are lost.
        """
        state = self.state
        self.columns = state.tokens.ne(self.pad).sum(1)
        column = torch.arange(state.tokens.size(1), device=state.tokens.device)
        beyond = column >= self.columns.unsqueeze(1)
        state.tokens = state.tokens.masked_fill(beyond, self.pad)

    # other rules ------------------------------------------------------------------------------

    def _growing(self) -> Tensor:
        """R, bool: sentences that are short enough to insert into."""
        return self.state.lengths < self.state.cap

    def _forbidden_symbols(self) -> list[int]:
        # a trace knows no padding inside a sentence; stock's models leave none
        return [self.placeholder, self.pad] if self.policy.traces else [self.placeholder]

    def limited(self, counts: Tensor) -> Tensor:
        """What is left of ``counts``: a sentence that may grow gets beyond the limit."""
        counts = torch.minimum(counts, self.state.cap.unsqueeze(1))
        counts = counts.masked_fill(~self._growing().unsqueeze(1), 0)
        limits = self.policy.max_positions()
        if limits is None:
            return counts
        return limit_insertions(counts, limits[1] - self.state.lengths, self.arrays)

    def _refilled(self) -> Tensor:
        """R × T, bool: unknown symbols that are written anew."""
        state = self.state
        unknown = state.tokens.eq(self.symbols.unk)
        if self.orders is not None:
            unknown = unknown & ~self.orders.standing(KEEP, state.origin, state.rows)
        return unknown

    def placeholders(self) -> tuple[Tensor, int, tuple[int, ...] | None]:
        """Where tokens are to be written: at placeholders and at unknown symbols."""
        placeholders, opened, _ = super().placeholders()
        return placeholders | self._refilled(), opened + self.refilled_count, None

    def _length_cap(self, source: Tensor, draft: Tensor) -> Tensor:
        """R: tokens, <s> and </s> included, from which on a sentence does not grow."""
        return (2 * source.ne(self.pad).sum(1)).clamp(min=10)
