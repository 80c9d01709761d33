"""Algorithm 2 of the paper (Gu et al., 2019): delete, insert placeholders, fill them, and again.

The loop is written once, for arrays of numpy and tensors of torch (:mod:`.arrays`). A batch is
padded on the right; finished sentences leave it.

Shapes: R candidates, T tokens each, V symbols, P tokens to be written.
"""

from typing import Any

from ..history import EditHypothesis
from .arrays import Array, Arrays
from .candidates import CandidateNoise, best, rate, sentence_keys
from .constraints import EditConstraints
from .options import RefinementOptions
from .policy import EditPolicy, EditState, Symbols
from .state import Edit, RefinementState

KEEP, DELETE = 0, 1  # the classes of deletion


class Decoding:
    """One batch while it is decoded, each sentence as often as it has candidates.

    Args:
        policy: the model.
        source: B × S tokens. draft: B × N, None for empty ones. marks: B × N, bits of
            :mod:`.markup` on the drafts; None for none.

    Attributes:
        state: the sentences.
        noise: by which candidates differ; None where each sentence has one.
        constraints: marks on drafts; None where there are none.
    """

    def __init__(
        self,
        policy: EditPolicy,
        source: Array,
        draft: Array | None,
        marks: Array | None,
        symbols: Symbols,
        options: RefinementOptions,
    ) -> None:
        arrays = policy.arrays
        self.policy = policy
        self.options = options
        self.symbols = symbols
        self.arrays = arrays
        self.pad = symbols.pad
        if draft is None:
            draft = arrays.as_tensor([[symbols.bos, symbols.eos]] * len(source), source)
        encoder_out = policy.encode(source)
        count = options.candidates
        self.noise: CandidateNoise | None = None
        has_marks = marks is not None and bool(marks.any())
        if count > 1:
            rows = arrays.arange(count * len(source), source) // count
            source, draft = source[rows], draft[rows]
            encoder_out = encoder_out.select(rows)
            keys = sentence_keys(source, draft, self.pad)
            self.noise = CandidateNoise(options, keys, arrays)
            marks = None if marks is None else marks[rows]
        self.constraints: EditConstraints | None = None
        if has_marks:
            self.constraints = EditConstraints(draft, marks, symbols.names, self.pad, arrays)
        self.encoder_out = encoder_out
        self.state = RefinementState(draft, encoder_out, self.pad, options.retain_history, arrays)
        caps = length_caps(policy, source, self.state.sizes, self.pad, options)
        self.state.cap = arrays.as_tensor(caps, source)
        self.symbol_offsets: Array | None = None  # V, added to the logits of symbols

    def run(self) -> list[EditHypothesis]:
        """Decodes (Algorithm 2); returns one hypothesis for every row, in order."""
        state = self.state
        most = self.options.max_iter
        for step in range(most):
            state.begin_iteration()
            for edit in (self.delete, self.insert, self.fill):
                edit(step)
                if not state.numbers:
                    return state.hypotheses()
        state.finish([True] * len(state.numbers), most, "max_iterations")
        return state.hypotheses()

    # delete words -----------------------------------------------------------------------------

    def delete(self, step: int) -> None:
        """Deletes tokens. Finishes sentences that would return to an earlier state."""
        state = self.state
        deletion = self.deletions()
        if self.options.adaptive and state.seen is not None:
            deletion = self._finish_seen(deletion, step)
        else:
            self._read_sizes(deletion)
        if state.numbers:
            state.delete(deletion, self.policy.traces)
            state.record("deletion", deletion.scores)

    def deletions(self) -> Edit:
        """Decides which tokens are kept (Eq. 3). Notes log p(keep) as the score of draft tokens."""
        state, arrays = self.state, self.arrays
        real = state.tokens != self.pad
        if state.tokens.shape[1] == 2:  # <s> and </s> alone
            no_scores = arrays.zeros_like(state.scores)
            return Edit(real, state.lengths, no_scores, list(state.sizes))
        log_probs = arrays.log_softmax(self.logits("deletion"))
        log_keep, log_delete = log_probs[..., KEEP], log_probs[..., DELETE]
        deleted = arrays.xp.exp(log_delete) > self.options.delete_threshold
        if self.constraints is not None:
            deleted = self.constraints.deletions(deleted, state)
        inner = self.symbols.inner(state.tokens)
        keep = real & ~(inner & deleted)
        of_draft = inner & (state.origin >= 0)
        state.scores = arrays.xp.where(of_draft, log_keep, state.scores)
        return Edit(keep, keep.sum(1), log_delete)

    def _finish_seen(self, deletion: Edit, step: int) -> Edit:
        """Finishes sentences that return to an earlier state; returns that of the others."""
        state = self.state
        keep = deletion.action
        compact = self.arrays.compaction(keep, keep.shape[1])
        is_seen, is_last = self._read_sizes(
            deletion, *state.seen_before(compact(state.tokens, self.pad))
        )
        if not any(is_seen):
            return deletion
        is_settled = [last and idle for last, idle in zip(is_last, state.idle, strict=True)]
        is_loop = [seen and not rest for seen, rest in zip(is_seen, is_settled, strict=True)]
        state.finish(is_settled, step, "unchanged")
        state.finish(is_loop, step, "loop")
        return self._drop(is_seen, deletion)

    # insert placeholders ----------------------------------------------------------------------

    def insert(self, step: int) -> None:
        """Inserts placeholders. Finishes sentences with nothing to delete and nothing to insert."""
        state = self.state
        counts = self.placeholder_counts(step)
        insertion = Edit(counts, state.lengths + counts.sum(1))
        self._read_sizes(insertion)
        if self.options.adaptive:
            state.finish(state.idle, step, "unchanged")
            insertion = self._drop(state.idle, insertion)
            state.remember()
        if state.numbers:
            state.insert(insertion, self.symbols.placeholder)
            state.record("placeholder")

    def placeholder_counts(self, step: int) -> Array:
        """Decides how many tokens are inserted in every slot (Eq. 4): R × (T − 1)."""
        state, arrays = self.state, self.arrays
        logits = arrays.float32(self.logits("placeholder"))
        if self.options.empty_penalty:
            logits = arrays.copy(logits)
            logits[..., 0] -= self.options.empty_penalty
        if self.noise is not None:
            rows, width, classes = logits.shape
            flat = arrays.arange(rows * width, logits)
            noise = self.noise(state.rows, flat, width, 2 * step, classes)
            logits = logits + noise.reshape(logits.shape)
        is_padding = state.tokens[:, 1:] == self.pad
        counts = arrays.masked_fill(logits.argmax(-1), is_padding, 0)
        if self.constraints is not None:
            counts = self.constraints.insertions(counts, state)
        return limit_insertions(counts, state.cap - state.lengths, arrays)

    # fill placeholders ------------------------------------------------------------------------

    def fill(self, step: int) -> None:
        """Replaces placeholders by tokens."""
        state = self.state
        where = state.tokens == self.symbols.placeholder
        if state.opened:
            places = self.arrays.flatnonzero(where, state.opened)
            view = state.view("token", where, places)
            best_tokens = self.policy.best_tokens
            # nothing but the policy decides
            is_plain = not (self.noise or self.constraints or self.options.unk_penalty)
            if best_tokens is not None and is_plain:
                tokens, scores = best_tokens(view)
            else:
                tokens, scores = self._choose(self.policy.logits("token", view), view, step)
            state.fill(where, places, tokens, scores)
        state.record("token", state.scores)

    def _choose(self, logits: Array, view: EditState, step: int) -> tuple[Array, Array]:
        """Chooses tokens by P × V logits (Eq. 5); returns them and their log-probabilities.

        A few rows at a time, so that they stay in the cache.
        """
        arrays = self.arrays
        constraints = self.constraints
        count = len(logits)
        size = arrays.rows_at_once(logits)
        if constraints is not None and constraints.removes:  # it has to see all at once
            size = count
        tokens, scores = [], []
        for first in range(0, count, size):
            rows = slice(first, first + size)
            places = view.places[rows]  # type: ignore[index]
            allowed = preferred = self._allowed(logits[rows])
            if self.noise is not None:
                width, stream = view.tokens.shape[1], 2 * step + 1
                noise = self.noise(self.state.rows, places, width, stream, allowed.shape[1])
                preferred = allowed + noise
            if constraints is None:
                best = arrays.argmax(preferred)
            else:
                best = constraints.tokens(preferred, places, view.where, self.state)
            likelihood = arrays.gather(allowed, best[:, None])[:, 0]
            tokens.append(best)
            scores.append(likelihood - arrays.logsumexp(allowed))
        return arrays.xp.concatenate(tokens, 0), arrays.xp.concatenate(scores, 0)

    def _allowed(self, logits: Array) -> Array:
        """Returns a copy in single precision, P × V, without the symbols that are never written."""
        if self.symbol_offsets is None:
            symbols = self.symbols
            self.symbol_offsets = self.arrays.zeros_like(logits[0])
            self.symbol_offsets[symbols.unk] -= self.options.unk_penalty
            # numbers that the device need not be sent
            for symbol in sorted({symbols.pad, symbols.bos, symbols.eos, symbols.placeholder}):
                self.symbol_offsets[symbol] = float("-inf")
        return self.arrays.float32(logits) + self.symbol_offsets

    # helpers ----------------------------------------------------------------------------------

    def logits(self, head: str) -> Array:
        """Returns the logits of a head for the present tokens."""
        return self.policy.logits(head, self.state.view(head))

    def _read_sizes(self, edit: Edit, *flags: Array) -> list[list[bool]]:
        """Brings the lengths after an edit to the host, waiting for a device once.

        flags: R, bool, what else the host has to know. Returns them.
        """
        lengths = [] if edit.sizes else [edit.lengths]
        numbers = self.arrays.tolist([*lengths, *flags])
        if lengths:
            edit.sizes = numbers.pop(0)
        self.state.note_changes(edit.sizes)
        return [list(map(bool, flag)) for flag in numbers]

    def _drop(self, done: list[bool], edit: Edit) -> Edit:
        staying = self.state.drop(done)
        return edit if staying is None else edit.select(*staying)

    # candidates -------------------------------------------------------------------------------

    def rate(self, hypotheses: list[EditHypothesis]) -> None:
        """Gives the candidates, which :meth:`run` has left, scores to compare them by."""
        rate(self.policy, self.encoder_out, hypotheses, self.symbols, self.state.cap)

    def nbest(self, hypotheses: list[EditHypothesis]) -> list[list[EditHypothesis]]:
        """Returns the best candidates of each sentence, once they have scores."""
        groups = self.groups(hypotheses)
        if self.options.candidates == 1:
            return groups
        return [best(group, self.options.nbest) for group in groups]

    def groups(self, candidates: list[Any]) -> list[list[Any]]:
        """Groups what there is of each candidate by sentence."""
        count = self.options.candidates
        return [candidates[first : first + count] for first in range(0, len(candidates), count)]


def length_caps(
    policy: EditPolicy, source: Array, sizes: list[int], pad: int, options: RefinementOptions
) -> list[int]:
    """Returns the lengths, <s> and </s> included, beyond which nothing is inserted.

    Args:
        sizes: of the drafts.
    """
    least: list[int] = [options.max_len_b] * len(sizes)
    if options.max_len_a:
        words = ((source != pad).sum(1) - 2) * options.max_len_a + options.max_len_b
        least = policy.arrays.int64(words).tolist()
    _, most = policy.max_positions()
    # with a limit near its length a draft would be deleted from and not inserted into
    longest = map(max, least, (size - 2 + (size - 1) // 2 for size in sizes))
    return [min(length + 2, most) for length in longest]


def limit_insertions(counts: Array, room: Array, arrays: Arrays) -> Array:
    """Cuts insertion counts, from the left, so that a sentence gets at most ``room`` new tokens.

    Args:
        counts: R × (T − 1), placeholders wanted in every slot.
        room: R, how many tokens may be added (negative counts as 0).
    """
    if not arrays.waits and (counts.sum(1) <= room).all():
        return counts
    before = counts.cumsum(1) - counts
    return arrays.xp.minimum(counts, arrays.xp.clip(room[:, None] - before, 0, None))
