"""Algorithm 2 of the paper (Gu et al., 2019): delete, insert placeholders, fill them, and again.

The loop is written once, for arrays of numpy and tensors of torch (:mod:`.arrays`). A batch is
padded on the right; what is finished leaves it.

Shapes: R candidates, T tokens each, V symbols, P tokens to be written.
"""

from typing import NamedTuple

from .arrays import Array
from .candidates import CandidateNoise, rate, sentence_keys
from .constraints import EditConstraints
from .operations import Decision, Operation
from .options import RefinementOptions
from .policy import UNKNOWN, EditPolicy
from .processors import Places, limit_insertions
from .records import EditHypothesis
from .state import RefinementState


class Symbols(NamedTuple):
    """Those of a dictionary: all up to the placeholder, and the numbers of the special ones."""

    names: tuple[str, ...]
    pad: int
    bos: int
    eos: int
    unk: int
    placeholder: int

    def inner(self, tokens: Array) -> Array:
        """R × T, bool: neither padding nor ends."""
        return (tokens != self.pad) & (tokens != self.bos) & (tokens != self.eos)


class Decoding:
    """One batch while it is decoded, each sentence as often as it has candidates.

    Args:
        policy: what says how to edit.
        source: B × S tokens. draft: B × N, None for empty ones. marks: B × N, bits of
            :mod:`.markup` on the drafts; None for none.

    Attributes:
        operations: what an iteration does, in order.
        state: the sentences.
        noise: what candidates differ by; None where there is one for each sentence.
        orders: marks on drafts; None where there are none.
        processors: of each operation, by name (:mod:`.processors`).
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
        self.operations = policy.operations
        self.symbols = symbols
        self.arrays = arrays
        self.pad = symbols.pad
        self.placeholder = symbols.placeholder
        if draft is None:
            draft = arrays.send([[symbols.bos, symbols.eos]] * len(source), source)
        memory = policy.encode(source)
        count = options.candidates
        self.noise: CandidateNoise | None = None
        has_marks = marks is not None and bool(marks.any())
        if count > 1:
            rows = arrays.positions(count * len(source), source) // count
            source, draft = arrays.take(source, rows), arrays.take(draft, rows)
            memory = memory.select(rows)
            keys = sentence_keys(source, draft, self.pad)
            self.noise = CandidateNoise(options, keys, arrays)
            marks = arrays.take(marks, rows) if has_marks else None
        self.orders: EditConstraints | None = None
        if has_marks:
            self.orders = EditConstraints(draft, marks, symbols.names, arrays)
        self.memory = memory
        self.state = RefinementState(draft, memory, self.pad, options.retain_history, arrays)
        self.state.cap = self._length_cap(source, draft)
        self.processors = {
            operation.name: operation.processors(self) for operation in self.operations
        }
        self.symbol_offsets: Array | None = None  # V, what is added to the logits of symbols
        revisions = [operation for operation in self.operations if operation.stage == "revise"]
        self.last_revision = revisions[-1] if revisions else None

    def run(self) -> list[EditHypothesis]:
        """Algorithm 2: one hypothesis for every row, in order, once every sentence is finished."""
        state = self.state
        most = self.options.max_iter
        for step in range(most):
            state.begin_iteration()
            for operation in self.operations:  # delete, insert placeholders, fill them
                decision = operation.decide(self, step)
                decision = self._let_leave(operation, decision, step)
                if not state.numbers:
                    return state.hypotheses()
                operation.act(self, decision)
                state.record(operation, decision)
            state.close_iteration()
        state.finish([True] * len(state.numbers), most, "max_iterations")
        return state.hypotheses()

    def _let_leave(self, operation: Operation, decision: Decision, step: int) -> Decision:
        """Sentences at rest leave as they stand: nothing is left to do, or an earlier state would
        come back. Returns the decision about the others, which the host has read."""
        state = self.state
        adaptive = self.options.adaptive
        if operation.stage == "write":
            return decision
        if adaptive and operation is self.last_revision and state.seen is not None:
            outcome = operation.outcome(state, decision)
            is_back, is_last = self.read(decision, *state.seen_before(outcome))
            if not any(is_back):
                return decision
            is_settled = [last and idle for last, idle in zip(is_last, state.idle, strict=True)]
            is_loop = [back and not rest for back, rest in zip(is_back, is_settled, strict=True)]
            state.finish(is_settled, step, "unchanged")
            state.finish(is_loop, step, "loop")
            return self._drop(is_back, decision)
        self.read(decision)
        if adaptive and operation.stage == "open":
            state.finish(state.idle, step, "unchanged")
            decision = self._drop(state.idle, decision)
            state.remember()
        return decision

    def read(self, decision: Decision, *flags: Array) -> list[list[bool]]:
        """Tells the host, and the state, what a decision does; a device is waited for once.

        flags: R, bool, what else the host has to know. Returns them.
        """
        state = self.state
        moves = [] if decision.moves is None else [decision.moves]
        lengths = [] if decision.sizes else [decision.lengths]
        numbers = self.arrays.numbers([*lengths, *moves, *flags])
        if lengths:
            decision.sizes = numbers.pop(0)
        decision.changed = [
            now != before for now, before in zip(decision.sizes, state.sizes, strict=True)
        ]
        if moves:
            moved = zip(decision.changed, numbers.pop(0), strict=True)
            decision.changed = [resized or bool(moves) for resized, moves in moved]
        state.note_changes(decision)
        return [list(map(bool, flag)) for flag in numbers]

    def _drop(self, done: list[bool], decision: Decision) -> Decision:
        staying = self.state.drop(done)
        return decision if staying is None else decision.select(*staying, self.arrays)

    # what operations ask for ------------------------------------------------------------------

    def logits(
        self,
        operation: Operation,
        where: Array | None = None,
        places: Array | None = None,
        writing: tuple[int, ...] | None = None,
    ) -> Array:
        """What the policy says of the present tokens (:meth:`.EditPolicy.logits`).

        ``where``: R × T, bool, where tokens are to be written, and ``places``, P, the same laid
        flat. ``writing``: the rows that have any; None: unknown.
        """
        state = self.state
        facts = state.facts(places, writing) if self.arrays.waits else UNKNOWN
        state.note_reading(operation)
        return self.policy.logits(operation, state.tokens, state.memory, where, state.trace, facts)

    def processed(
        self, operation: Operation, scores: Array, step: int, places: Places | None = None
    ) -> Array:
        """The scores that an operation's processors leave."""
        for processor in self.processors[operation.name]:
            scores = processor.scores(self, scores, step, places)
        return scores

    def revised(
        self,
        operation: Operation,
        action: Array,
        scores: Array | None = None,
        places: Places | None = None,
    ) -> Array:
        """The action that an operation's processors leave."""
        for processor in self.processors[operation.name]:
            action = processor.action(self, action, scores, places)
        return action

    def looks_at_all(self, operation: Operation) -> bool:
        """Whether a processor has to see all that is written at once."""
        return any(processor.looks_at_all for processor in self.processors[operation.name])

    def is_free(self, operation: Operation) -> bool:
        """Whether nothing but the policy decides."""
        return not self.processors[operation.name] and not self.options.unk_penalty

    def inner(self, tokens: Array) -> Array:
        """R × T, bool: neither padding nor ends."""
        return self.symbols.inner(tokens)

    def placeholders(self) -> tuple[Array, int, tuple[int, ...] | None]:
        """Where tokens are to be written, R × T, bool, how many they are, and in which rows; None
        where the host does not know these."""
        state = self.state
        return state.tokens == self.placeholder, state.opened, state.writing

    def limited(self, counts: Array) -> Array:
        """The ``counts`` of insertions, R × (T − 1), that the length limit leaves; fairseq's
        decoder has another one."""
        return limit_insertions(counts, self.state.cap - self.state.lengths, self.arrays)

    def allowed(self, logits: Array) -> Array:
        """A copy in single precision, P × V, without the symbols that are never written.

        For what writes symbols alone: the offsets are made once, as wide as the first logits.
        """
        if self.symbol_offsets is None:
            self.symbol_offsets = self.arrays.zeros(logits.shape[1:], logits)
            self.symbol_offsets[self.symbols.unk] -= self.options.unk_penalty
            for symbol in self._forbidden_symbols():  # numbers that the device need not be sent
                self.symbol_offsets[symbol] = float("-inf")
        return self.arrays.single(logits) + self.symbol_offsets

    # limits -----------------------------------------------------------------------------------

    def _forbidden_symbols(self) -> list[int]:
        symbols = self.symbols
        return sorted({symbols.pad, symbols.bos, symbols.eos, symbols.placeholder})

    def _length_cap(self, source: Array, draft: Array) -> Array:
        """R: tokens, <s> and </s> included, beyond which nothing is inserted."""
        arrays, options = self.arrays, self.options
        factor, least = options.max_len_a, options.max_len_b
        drafted = self.state.lengths - 2
        # with a limit near its length a draft would be deleted from and not inserted into
        longest = drafted + (drafted + 1) // 2
        if factor:
            words = ((source != self.pad).sum(1) - 2) * factor + least
            cap = arrays.maximum(arrays.whole(words), longest) + 2
        else:
            cap = arrays.at_least(longest, least) + 2
        limits = self.policy.max_positions()
        return cap if limits is None else arrays.between(cap, 0, limits[1])

    # candidates -------------------------------------------------------------------------------

    def rate(self, hypotheses: list[EditHypothesis]) -> None:
        """Gives the candidates, which :meth:`run` has left, scores to compare them by."""
        rate(self.policy, self.memory, hypotheses, self.symbols, self.state.cap)

    def groups(self, hypotheses: list[EditHypothesis]) -> list[list[EditHypothesis]]:
        """The candidates of each sentence."""
        count = self.options.candidates
        return [hypotheses[first : first + count] for first in range(0, len(hypotheses), count)]
