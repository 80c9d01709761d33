"""The iterations of Algorithm 2, for one batch.

Shapes: R candidates, T tokens each, V symbols, K the most tokens that can be missing in one slot.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from operator import not_

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor

from ....data.batch import Batch
from ....nn.cpu import rows_at_once
from ....ops.edits import Compaction, limit_insertions, true_places
from ..markup import DROP, JOINED, KEEP, EditConstraints, symbol_edges
from .candidates import gumbel_noise, sentence_keys
from .options import RefinementOptions
from .policy import EditPolicy, Facts
from .records import EditHypothesis
from .state import RefinementState


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
        self.offsets: Tensor | None = None  # V, what is added to the logits of symbols
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
        self.state.cap = self._length_cap(source, draft)

    def run(self) -> list[EditHypothesis]:
        """One hypothesis for every row, in order: loops end when every sentence is finished."""
        self._run()
        return self.state.hypotheses()

    def _run(self) -> None:
        """Algorithm 2, with loops of any period."""
        state = self.state
        for step in range(self.options.max_iter):
            self._delete(step)
            if not state.numbers:
                return
            counts = self._counts(step)
            totals = counts.sum(1).tolist()
            if self.options.adaptive:
                pairs = zip(totals, state.changed, strict=True)
                idle = [not (total or changed) for total, changed in pairs]
                state.finish(idle, step, "unchanged")
                counts, totals = *state.drop(idle, counts), [*compress(totals, map(not_, idle))]
                if not state.numbers:
                    return
                state.remember()
            state.record("delete", state.kept, state.deleting)
            self._insert(counts, totals, step)
        state.finish([True] * len(state.numbers), self.options.max_iter, "max_iterations")

    def _delete(self, step: int) -> None:
        """Deletes; sentences that are then where they were before leave as they stood."""
        state, keep = self.state, self._keep()
        if not self.options.adaptive or state.seen is None:  # nothing has been seen
            kept = keep.sum(1).tolist() if self.reads else state.sizes
            state.keep(keep, kept, self.policy.traces)
            state.narrow()
            return
        moved = Compaction(keep, keep.size(1))
        again, last = state.seen_before(moved(state.tokens, self.pad))
        kept, returns, stays = torch.stack([keep.sum(1), again, last]).tolist()
        intact = [now == before for now, before in zip(kept, state.sizes, strict=True)]
        settled = [bool(same and whole) for same, whole in zip(stays, intact, strict=True)]
        loops = [bool(same) and not rests for same, rests in zip(returns, settled, strict=True)]
        state.finish(settled, step, "unchanged")
        state.finish(loops, step, "loop")
        state.keep(keep, kept, self.policy.traces, moved)
        state.drop(list(map(bool, returns)))
        if state.numbers:
            state.narrow()

    # the three phases -------------------------------------------------------------------------

    def _keep(self) -> Tensor:
        """Which tokens are kept, R × T, bool; notes why drafted ones stay."""
        state = self.state
        real = state.tokens.ne(self.pad)
        inner = real & state.tokens.ne(self.bos) & state.tokens.ne(self.eos)
        self.reads = state.tokens.size(1) > 2
        if not self.reads:  # <s> and </s> alone
            state.deleting = torch.zeros_like(state.scores)
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
        logits = self._placeholder_logits()
        slots = state.tokens[:, 1:].ne(self.pad)
        if self.constraints is not None:
            slots = slots & ~self.constraints.standing(JOINED, state.origin, state.rows)[:, :-1]
        counts = self._adjusted(logits, step).argmax(-1).masked_fill(~slots, 0)
        if self.constraints is not None and self.constraints.whole_words:
            # what would grow onto a word that stays is set apart by one token at least
            onto = self.constraints.grown_together(state.tokens, state.origin, state.rows)
            counts = torch.maximum(counts, (onto & slots).long())
        return self._limited(counts)

    def _limited(self, counts: Tensor) -> Tensor:
        """The ``counts`` that the length limit leaves."""
        return limit_insertions(counts, self.state.cap - self.state.lengths)

    def _placeholder_logits(self) -> Tensor:
        """Of the number of tokens missing in each slot, R × (T − 1) × (K + 1)."""
        state = self.state
        memory = self.policy.with_facts(state.memory, self._facts())
        return self.policy.placeholder_logits(state.tokens, memory, state.trace).float()

    def _facts(self) -> Facts:
        """Of the tokens that a deletion has left."""
        facts = self.state.facts()
        # no features were made of <s> and </s> alone
        return facts if self.reads else replace(facts, changed=(*range(len(self.state.numbers)),))

    def _adjusted(self, logits: Tensor, step: int) -> Tensor:
        """Placeholder logits less γ for inserting nothing, and with the noise of the candidates."""
        if self.options.empty_penalty:
            logits = logits.clone()
            logits[..., 0] -= self.options.empty_penalty
        if self.keys is None:
            return logits
        places = torch.arange(logits[..., 0].numel(), device=logits.device)
        noise = self._noise(places, logits.size(1), 2 * step, logits.size(2))
        return logits + noise.view_as(logits)

    def _noise(self, places: Tensor, width: int, stream: int, classes: int) -> Tensor:
        """What candidates differ by at ``places`` (P) of a flat R × ``width``: P × ``classes``."""
        assert self.keys is not None
        rows = self.state.rows[places.div(width, rounding_mode="floor")]
        places = places.remainder(width)
        return gumbel_noise(self.options, self.keys[rows], rows, stream, places, classes)

    def _insert(self, counts: Tensor, totals: Sequence[int], step: int) -> None:
        """Opens the slots, ``totals`` of the R in all, and fills every placeholder."""
        state = self.state
        if any(totals):
            state.open(counts, totals, self.placeholder)
        state.record("placeholder")
        where, count = self._unwritten(sum(totals))
        if count:
            self._fill(where, true_places(where, count), step)
        state.record("token", where, state.scores)

    def _unwritten(self, opened: int) -> tuple[Tensor, int]:
        """Where tokens are to be written, R × T, bool, and how many; ``opened``: placeholders."""
        return self.state.tokens.eq(self.placeholder), opened

    def _fill(self, where: Tensor, places: Tensor, step: int) -> None:
        """Writes the likeliest token at each place of ``where`` (R × T, bool)."""
        state, constraints = self.state, self.constraints
        memory = self.policy.with_facts(state.memory, state.facts(places))
        logits = self.policy.token_logits(state.tokens, memory, where, state.trace)
        onto, removes = None, False
        if constraints is not None:
            removes = constraints.removes  # looked for in all at once
            if constraints.whole_words:
                onto = constraints.growing(places, state.origin, state.rows)
        size = len(logits) if removes else rows_at_once(logits)
        tokens, scores = [], []
        for first in range(0, len(logits), size):
            part = slice(first, first + size)
            allowed = choice = self._allowed(logits[part])
            if self.keys is not None:
                width = where.size(1)
                choice = choice + self._noise(places[part], width, 2 * step + 1, choice.size(1))
            if onto is not None:
                choice = choice.masked_fill(onto[part], float("-inf"))
            found = choice.max(1).indices  # sooner than argmax
            if constraints is not None and removes:
                filled = state.tokens.flatten().index_copy(0, places, found).view_as(where)
                found = constraints.mask_forbidden(choice.clone(), where, filled, state.numbers)
            tokens.append(found)
            scores.append(allowed.gather(1, found.unsqueeze(1)).squeeze(1) - allowed.logsumexp(1))
        state.fill(where, places, torch.cat(tokens), torch.cat(scores))

    def _allowed(self, logits: Tensor) -> Tensor:
        """A copy in single precision, P × V, without the symbols that are never written."""
        if self.offsets is None:
            self.offsets = torch.zeros(logits.size(1), device=logits.device)
            self.offsets[self.unk] -= self.options.unk_penalty
            for symbol in self.never:  # numbers that the device need not be sent
                self.offsets[symbol] = float("-inf")
        return logits.float() + self.offsets

    def _length_cap(self, source: Tensor, draft: Tensor) -> Tensor:
        """R: tokens, <s> and </s> included, beyond which nothing is inserted."""
        source_lengths = source.ne(self.pad).sum(1)
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
