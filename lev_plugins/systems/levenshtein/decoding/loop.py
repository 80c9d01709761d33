"""The iterations of Algorithm 2, for one batch.

Shapes: R candidates, T tokens each, V symbols, K the most tokens that can be missing in one slot.
"""

from typing import cast

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor

from ....data.batch import Batch
from ....nn.cpu import rows_at_once
from ....ops.edits import Compaction, limit_insertions
from ..markup import DROP, JOINED, KEEP, EditConstraints, symbol_edges
from ..roll_in import without
from .candidates import gumbel_noise, sentence_keys
from .options import RefinementOptions
from .policy import EditPolicy
from .state import EditHypothesis, RefinementState, equal_rows


class Decoding:
    """One batch while it is decoded, each sentence as often as it has candidates."""

    def __init__(
        self,
        policy: EditPolicy,
        sample: Batch,
        dictionary: Dictionary,
        placeholder: int,
        options: RefinementOptions,
    ) -> None:
        self.policy, self.options = policy, options
        self.pad, self.bos, self.eos = dictionary.pad(), dictionary.bos(), dictionary.eos()
        self.unk, self.placeholder = dictionary.unk(), placeholder
        self.never = sorted({self.pad, self.bos, self.eos, placeholder})
        source, draft = sample["net_input"]["src_tokens"], sample.get("draft")
        if draft is None:
            draft = source.new_tensor([[self.bos, self.eos]]).expand(source.size(0), 2)
        memory, rows = policy.encode(source), torch.arange(source.size(0), device=source.device)
        self.keys: Tensor | None = None
        self.spaces: Tensor | None = None
        self.constraints: EditConstraints | None = None
        if options.candidates > 1:
            rows = rows.repeat_interleave(options.candidates)
            source, draft, memory = source[rows], draft[rows], memory.select(rows)
            self.keys = sentence_keys(source, draft, self.pad)
        symbols = tuple(dictionary.symbols[: placeholder + 1])
        if options.delete_words:
            self.spaces = symbol_edges(symbols, spaces=True).to(draft.device)
        if (marks := sample.get("marks")) is not None and bool(marks.any()):
            self.constraints = EditConstraints(draft, marks[rows], symbol_edges(symbols))
        self.state = RefinementState(draft, memory, self.pad, options.retain_history)
        self.cap = self._length_cap(source, draft)

    def run(self) -> list[EditHypothesis]:
        """One hypothesis for every row, in order: loops end when every sentence is finished."""
        (self._run_stock if self.options.stock else self._run)()
        return cast(list[EditHypothesis], self.state.finished)

    def _run(self) -> None:
        """Algorithm 2, with loops of any period."""
        state = self.state
        for step in range(self.options.max_iter):
            keep, intact = self._delete(step)
            if not len(state.rows):
                return
            counts = self._counts(step)
            if self.options.adaptive:
                idle = intact & counts.eq(0).all(1)
                keep, counts = state.finish(idle, step, "unchanged", keep, counts)
                if not len(state.rows):
                    return
                state.seen.append(state.tokens)
            state.record("delete", keep)
            self._insert(counts, step)
        everyone = torch.ones_like(state.rows, dtype=torch.bool)
        state.finish(everyone, self.options.max_iter, "max_iterations")

    def _delete(self, step: int) -> tuple[Tensor, Tensor]:
        """Deletes; sentences that are then where they were before leave as they stand.

        Returns of those that stay which tokens were kept, R × T, and whether all were, R.
        """
        state, keep = self.state, self._keep()
        intact = keep.sum(1) == state.lengths
        if self.options.adaptive and state.seen:  # at first nothing has been seen
            again, last = state.seen_before(Compaction(keep, keep.size(1))(state.tokens, self.pad))
            settled = last & intact
            keep, intact, again = state.finish(settled, step, "unchanged", keep, intact, again)
            keep, intact = state.finish(again, step, "loop", keep, intact)
        if len(state.rows):
            state.keep(keep, self.policy.traces)
        return keep, intact

    def _run_stock(self) -> None:
        """fairseq's loop: stops when a whole iteration changes nothing."""
        state = self.state
        for step in range(self.options.max_iter + 1):
            before, keep = state.tokens, self._keep()
            state.keep(keep, self.policy.traces)
            state.record("delete", keep)
            self._insert(self._counts(step), step)
            done = equal_rows(state.tokens, before, self.pad)
            if step == self.options.max_iter:
                state.finish(torch.ones_like(done), step, "max_iterations")
            elif self.options.adaptive:
                state.finish(done, step, "unchanged")
            if not len(state.rows):
                return

    # the three phases -------------------------------------------------------------------------

    def _keep(self) -> Tensor:
        """Which tokens are kept, R × T, bool; notes why drafted ones stay."""
        state = self.state
        real = state.tokens.ne(self.pad)
        inner = real & state.tokens.ne(self.bos) & state.tokens.ne(self.eos)
        state.deleting = torch.zeros_like(state.scores)
        if state.tokens.size(1) == 2:  # <s> and </s> alone
            return real
        state.memory = self.policy.with_features(state.tokens, state.memory)
        logits = self.policy.deletion_logits(state.tokens, state.memory).float()
        log_probs = torch.log_softmax(logits, dim=-1)
        sure = log_probs[..., 1].exp()
        if self.spaces is not None:
            sure = word_means(sure, self.spaces[state.tokens])
        delete = sure > self.options.delete_threshold
        if self.constraints is not None:
            delete = delete & ~self.constraints.standing(KEEP, state.origin, state.rows)
            delete = delete | self.constraints.standing(DROP, state.origin, state.rows)
        state.scores = torch.where(inner & (state.origin >= 0), log_probs[..., 0], state.scores)
        state.deleting = log_probs[..., 1]
        return real & ~(inner & delete)

    def _counts(self, step: int) -> Tensor:
        """How many tokens to insert in every slot, R × (T − 1), within the length limit."""
        state = self.state
        cap = self.cap[state.rows]
        logits = self.policy.placeholder_logits(state.tokens, state.memory, state.trace).float()
        slots = state.tokens[:, 1:].ne(self.pad)
        if self.constraints is not None:
            slots = slots & ~self.constraints.standing(JOINED, state.origin, state.rows)[:, :-1]
        counts = self._adjusted(logits, step).argmax(-1).masked_fill(~slots, 0)
        if self.constraints is not None and self.constraints.whole_words:
            # what would grow onto a word that stays is set apart by one token at least
            onto = self.constraints.grown_together(state.tokens, state.origin, state.rows)
            counts = torch.maximum(counts, (onto & slots).long())
        if self.options.stock:
            counts = torch.minimum(counts, cap.unsqueeze(1))
            counts = counts.masked_fill((state.lengths >= cap).unsqueeze(1), 0)
            limits = self.policy.max_positions()
            cap = state.lengths + counts.sum(1) if limits is None else cap.new_tensor(limits[1])
        return limit_insertions(counts, cap - state.lengths)

    def _adjusted(self, logits: Tensor, step: int) -> Tensor:
        """Placeholder logits less γ for inserting nothing, and with the noise of the candidates."""
        if self.options.empty_penalty:
            logits = logits.clone()
            logits[..., 0] -= self.options.empty_penalty
        if self.keys is None:
            return logits
        row, slot = torch.ones_like(logits[..., 0]).nonzero().unbind(1)
        return logits + self._noise(row, 2 * step, slot, logits.size(2)).view_as(logits)

    def _noise(self, row: Tensor, stream: int, places: Tensor, classes: int) -> Tensor:
        """What candidates differ by at ``places`` (P) of the ``row`` (P): P × ``classes``."""
        assert self.keys is not None
        rows = self.state.rows[row]
        return gumbel_noise(self.options, self.keys[rows], rows, stream, places, classes)

    def _insert(self, counts: Tensor, step: int) -> None:
        """Opens the slots and fills every placeholder."""
        state = self.state
        if bool(counts.any()):
            state.open(counts, self.placeholder)
        state.record("placeholder")
        where = state.tokens.eq(self.placeholder)
        if self.options.stock:
            refilled = state.tokens.eq(self.unk)
            if self.constraints is not None:
                refilled = refilled & ~self.constraints.standing(KEEP, state.origin, state.rows)
            where = where | refilled
        if bool(where.any()):
            self._fill(where, step)
        state.record("token", where)

    def _fill(self, where: Tensor, step: int) -> None:
        """Writes the likeliest token at each place of ``where`` (R × T, bool)."""
        state, constraints = self.state, self.constraints
        logits = self.policy.token_logits(state.tokens, state.memory, where, state.trace)
        place = None if self.keys is None else where.nonzero()
        onto, removes = None, False
        if constraints is not None:
            removes = constraints.removes  # looked for in all at once
            if constraints.whole_words:
                onto = constraints.growing(where, state.origin, state.rows)
        size = len(logits) if removes else rows_at_once(logits)
        tokens, scores = [], []
        for first in range(0, len(logits), size):
            part = slice(first, first + size)
            allowed = choice = self._allowed(logits[part])
            if place is not None:
                row, column = place[part].unbind(1)
                choice = choice + self._noise(row, 2 * step + 1, column, choice.size(1))
            if onto is not None:
                choice = choice.masked_fill(onto[part], float("-inf"))
            found = choice.max(1).indices  # sooner than argmax
            if constraints is not None and removes:
                filled = state.tokens.masked_scatter(where, found)
                found = constraints.mask_forbidden(choice.clone(), where, filled, state.rows)
            tokens.append(found)
            scores.append(allowed.gather(1, found.unsqueeze(1)).squeeze(1) - allowed.logsumexp(1))
        state.fill(where, torch.cat(tokens), torch.cat(scores))

    def _allowed(self, logits: Tensor) -> Tensor:
        """A copy in single precision, P × V, without the symbols that are never written."""
        logits = without(logits.float(), [self.placeholder] if self.options.stock else self.never)
        if self.options.unk_penalty:
            logits[:, self.unk] -= self.options.unk_penalty
        return logits

    def _length_cap(self, source: Tensor, draft: Tensor) -> Tensor:
        """R: tokens, <s> and </s> included, beyond which nothing is inserted."""
        source_lengths = source.ne(self.pad).sum(1)
        if self.options.stock:
            return (2 * source_lengths).clamp(min=10)
        words = (source_lengths - 2) * self.options.max_len_a + self.options.max_len_b
        drafted = draft.ne(self.pad).sum(1) - 2
        # with a limit near its length a draft would be deleted from and not inserted into
        cap = torch.maximum(words.long(), drafted + (drafted + 1) // 2) + 2
        limits = self.policy.max_positions()
        return cap if limits is None else cap.clamp(max=limits[1])


def word_means(values: Tensor, spaces: Tensor) -> Tensor:
    """R × T: of every token the mean of those between the same ``spaces`` (R × T × 2, of which 0 is
    before a token and 1 behind it)."""
    before, behind = spaces.unbind(2)
    word = (before | F.pad(behind[:, :-1], (1, 0))).long().cumsum(1)
    sums, sizes = (
        values.new_zeros(len(values), values.size(1) + 1).scatter_add(1, word, one)
        for one in (values, torch.ones_like(values))
    )
    return (sums / sizes.clamp(min=1)).gather(1, word)
