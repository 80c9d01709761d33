"""The iterations of Algorithm 2, for one batch.

Shapes: R candidates, T tokens each, V symbols, K the most tokens that can be missing in one slot.
"""

from typing import Generic, NamedTuple, cast

import torch
from fairseq.data import Dictionary
from torch import Tensor

from ....nn.blocks import rows_at_once, without
from ....ops.edits import Compaction, limit_insertions
from .constraints import EditConstraints, mask_forbidden
from .diversity import sentence_keys
from .options import RefinementOptions
from .policy import EditPolicy, MemoryT, limits_of, with_changes, with_features
from .state import EditHypothesis, RefinementState, equal_rows, to_device


class _Outlook(NamedTuple):
    """Of a sentence before deletions are carried out.

    kept: how many tokens will be left. intact: all. again: it will be as it once was. settled: it
    is as the iteration before found it, and stays so.
    """

    kept: int
    intact: int
    again: int
    settled: int


class Decoding(Generic[MemoryT]):
    """One batch while it is decoded.

    Args:
        memory: of the sources (R × S), row for row with the drafts (R × T).
        dictionary, placeholder, options: as of :class:`.refinement.RefinementGenerator`.
    """

    def __init__(
        self,
        policy: EditPolicy[MemoryT],
        memory: MemoryT,
        source: Tensor,
        draft: Tensor,
        dictionary: Dictionary,
        placeholder: int,
        options: RefinementOptions,
    ) -> None:
        self.policy, self.options, self.diversity = policy, options, options.diversity
        self.pad, self.bos, self.eos = dictionary.pad(), dictionary.bos(), dictionary.eos()
        self.unk, self.placeholder = dictionary.unk(), placeholder
        self.never = sorted({self.pad, self.bos, self.eos, placeholder})
        tokens = draft.masked_fill(draft > self.placeholder, self.unk)
        self.state = RefinementState(
            tokens, memory, self.pad, self.options.retain_history, original=draft
        )
        self.cap = self._length_cap(source, tokens)
        self.keys: Tensor | None = None
        if self.diversity.kind == "noise" and self.diversity.count > 1:
            self.keys = sentence_keys(source, tokens, self.pad)
        self.constraints: EditConstraints | None = None

    def set_constraints(self, constraints: EditConstraints) -> None:
        """Follows what a person has ordered."""
        constraints.check_room(self.cap)
        self.constraints = constraints

    def run(self) -> list[EditHypothesis]:
        """One hypothesis for every row, in order."""
        if self.options.stock:
            self._run_stock()
            for steps in self.state.history or ():
                for step in steps:  # stock's placeholder is the unknown symbol
                    step["tokens"].masked_fill_(step["tokens"] == self.placeholder, self.unk)
        else:
            self._run()
        # both loops end when every sentence is finished
        return cast(list[EditHypothesis], self.state.finished)

    def _run(self) -> None:
        """Algorithm 2, with loops of any period."""
        state = self.state
        for step in range(self.options.max_iter):
            keep, intact = self._delete(step)
            if state.empty:
                return
            counts = self._counts(step)
            new = counts.sum(1)
            grown = torch.stack([new, new + state.lengths], 1).tolist()
            if self.options.adaptive:
                idle = [whole and not number for whole, (number, _) in zip(intact, grown)]
                keep, counts = state.finish(idle, step, "unchanged", keep, counts)
                if not len(counts):
                    return
                grown = [row for row, done in zip(grown, idle) if not done]
                state.record_visited()
            state.record("delete", keep)
            inserts = any(number for number, _ in grown)
            self._insert(counts, step, inserts, max(length for _, length in grown))
        everyone = [True] * len(state.rows)
        state.finish(everyone, self.options.max_iter, "max_iterations")

    def _delete(self, step: int) -> tuple[Tensor, list[bool]]:
        """Deletes, unless a sentence is then where it was before: such sentences leave.

        Returns:
            of those that stay which tokens were kept, R × T, and whether all were, R.
        """
        state, keep = self.state, self._keep()
        kept = keep.sum(1)
        intact = kept == state.lengths
        again = settled = torch.zeros_like(intact)
        if self.options.adaptive and state.seen:  # at first nothing has been seen
            again, last = state.seen_before(Compaction(keep, keep.size(1))(state.tokens, self.pad))
            settled = last & intact
        # one copy to the host: each makes it wait for the device
        rows = [_Outlook(*row) for row in torch.stack([kept, intact, again, settled], 1).tolist()]
        (keep,) = state.finish([bool(row.settled) for row in rows], step, "unchanged", keep)
        rows = [row for row in rows if not row.settled]
        (keep,) = state.finish([bool(row.again) for row in rows], step, "loop", keep)
        rows = [row for row in rows if not row.again]
        if rows:
            state.keep(keep, max(row.kept for row in rows))
            changed = [i for i, row in enumerate(rows) if not row.intact]
            state.memory = with_changes(state.memory, to_device(changed, keep.device))
        return keep, [bool(row.intact) for row in rows]

    def _run_stock(self) -> None:
        """fairseq's loop: stops when a whole iteration changes nothing.

        Its history has a phase only where some sentence of the batch goes through it.
        """
        state = self.state
        for step in range(self.options.max_iter + 1):
            before = state.tokens
            keep = self._keep()
            deletes = bool((state.lengths > 2).any())
            state.keep(keep)
            if deletes:
                state.record("delete", keep)
            counts = self._counts(step)
            self._insert(counts, step, bool(counts.any()))
            done = equal_rows(state.tokens, before, self.pad)
            if step == self.options.max_iter:
                state.finish([True] * len(done), step, "max_iterations")
            elif self.options.adaptive:
                state.finish(done.tolist(), step, "unchanged")
            if state.empty:
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
        state.memory = with_features(self.policy, state.tokens, state.memory)
        logits = self.policy.deletion_logits(state.tokens, state.memory).float()
        log_probs = torch.log_softmax(logits, dim=-1)
        delete = log_probs[..., 1].exp() > self.options.delete_threshold
        if self.constraints is not None:
            delete = delete & ~self.constraints.must_keep(state.origin, state.rows)
            delete = delete | self.constraints.dropped(state.origin, state.rows)
        state.scores = torch.where(inner & (state.origin >= 0), log_probs[..., 0], state.scores)
        state.deleting = log_probs[..., 1]
        return real & ~(inner & delete)

    def _counts(self, step: int) -> Tensor:
        """How many tokens to insert in every slot, R × (T − 1), within the length limit."""
        state = self.state
        cap = self.cap[state.rows]
        logits = self.policy.placeholder_logits(state.tokens, state.memory).float()
        slots = state.tokens[:, 1:].ne(self.pad)
        if self.constraints is not None:
            slots = slots & ~self.constraints.no_insert(state.origin, state.rows)
        logits = self._adjusted(logits, step)
        counts = logits.argmax(-1).masked_fill(~slots, 0)
        if step == 0:
            counts = self.diversity.first_counts(logits, counts, slots, state.rows)
        if self.constraints is not None and self.constraints.whole_words:
            # what would grow onto a word that stays is set apart by one token at least
            onto = self.constraints.grown_together(state.tokens, state.origin, state.rows)
            counts = torch.maximum(counts, (onto & slots).long())
        if self.constraints is not None and self.constraints.replaces:
            emptied = self.constraints.emptied(state.origin, state.rows)
            counts = torch.maximum(counts, (emptied & slots).long())
        if self.options.stock:
            counts = torch.minimum(counts, cap.unsqueeze(1))
            return counts.masked_fill((state.lengths >= cap).unsqueeze(1), 0)
        return limit_insertions(counts, cap - state.lengths)

    def _adjusted(self, logits: Tensor, step: int) -> Tensor:
        """Placeholder logits less γ for inserting nothing, and with the noise of the candidates."""
        rows = self.state.rows
        several = self.diversity.count > 1 and self.diversity.kind == "penalty"
        if self.options.empty_penalty or several:
            penalties = self.diversity.penalties(self.options.empty_penalty, rows)
            logits = logits.clone()
            logits[..., 0] -= penalties.unsqueeze(1)
        if self.keys is None:
            return logits
        slots = logits.size(1)
        places = torch.arange(slots, device=rows.device).repeat(len(rows))
        noise = self._noise(rows.repeat_interleave(slots), 2 * step, places, logits.size(2))
        return logits + noise.view_as(logits)

    def _noise(self, candidates: Tensor, stream: int, places: Tensor, classes: int) -> Tensor:
        """What the candidates (P) differ by at ``places`` (P): P × ``classes``."""
        assert self.keys is not None
        return self.diversity.noise(self.keys[candidates], candidates, stream, places, classes)

    def _insert(
        self, counts: Tensor, step: int, inserts: bool, longest: int | None = None
    ) -> None:
        """Opens the slots and fills every placeholder.

        Args:
            inserts: whether any count is above 0.
            longest: tokens of the longest sentence once they are open, where that is known.
        """
        state = self.state
        asked = not self.options.stock or bool((state.lengths < self.cap[state.rows]).any())
        if inserts:
            state.open(counts, self.placeholder, longest)
        if asked:
            state.record("placeholder")
        where = state.tokens.eq(self.placeholder)
        if self.options.stock:
            refilled = state.tokens.eq(self.unk)
            if self.constraints is not None:
                refilled = refilled & ~self.constraints.must_keep(state.origin, state.rows)
            where = where | refilled
        fills = inserts or bool(where.any())
        if fills:
            self._fill(where, step)
        if not self.options.stock or fills:
            state.record("token", where)

    def _fill(self, where: Tensor, step: int) -> None:
        """Writes the likeliest token at each place of ``where`` (R × T, bool)."""
        state, constraints = self.state, self.constraints
        logits = self.policy.token_logits(state.tokens, state.memory, where)
        place = None if self.keys is None else where.nonzero()
        onto = None
        if constraints is not None and constraints.whole_words:
            onto = constraints.growing(where, state.origin, state.rows)
        removes = constraints is not None and constraints.removes  # looked for in all at once
        size = len(logits) if removes else rows_at_once(logits)
        tokens, scores = [], []
        for first in range(0, len(logits), size):
            part = slice(first, first + size)
            allowed = choice = self._allowed(logits[part])
            if place is not None:
                row, column = place[part].unbind(1)
                choice = choice + self._noise(state.rows[row], 2 * step + 1, column, len(choice[0]))
            if onto is not None:
                choice = choice.masked_fill(onto[part], float("-inf"))
            found = choice.max(1).indices  # sooner than argmax
            if constraints is not None and removes:
                filled = state.tokens.masked_scatter(where, found)
                found = mask_forbidden(choice.clone(), where, filled, constraints, state.rows)
            tokens.append(found)
            scores.append(allowed.gather(1, found.unsqueeze(1)).squeeze(1) - allowed.logsumexp(1))
        state.fill(where, torch.cat(tokens), torch.cat(scores))

    def _allowed(self, logits: Tensor) -> Tensor:
        """A copy in single precision, P × V, without the symbols that are never written."""
        logits = without(logits.float(), [self.placeholder] if self.options.stock else self.never)
        if self.options.unk_penalty:
            logits[:, self.unk] -= self.options.unk_penalty
        return logits

    # limits ---------------------------------------------------------------------------------

    def _length_cap(self, source: Tensor, draft: Tensor) -> Tensor:
        """R: tokens, <s> and </s> included, beyond which nothing is inserted."""
        source_lengths = source.ne(self.pad).sum(1)
        if self.options.stock:
            return (2 * source_lengths).clamp(min=10)
        words = (source_lengths - 2) * self.options.max_len_a + self.options.max_len_b
        drafted = draft.ne(self.pad).sum(1) - 2
        # with a limit near its length a draft would be deleted from and not inserted into
        cap = torch.maximum(words.long(), drafted + (drafted + 1) // 2) + 2
        limits = limits_of(self.policy)
        return cap if limits is None else cap.clamp(max=limits[1])
