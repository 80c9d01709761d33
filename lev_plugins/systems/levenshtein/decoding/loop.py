"""The iterations of Algorithm 2, for one batch.

Shapes: R candidates, T tokens each, V symbols, P tokens to be written.
"""

from typing import TYPE_CHECKING

import torch
from fairseq.data import Dictionary
from torch import Tensor

from ....data.batch import Batch
from ....ops.edits import limit_insertions
from ..markup import EditConstraints, symbol_edges
from .candidates import CandidateNoise, sentence_keys
from .options import RefinementOptions
from .policy import EditPolicy
from .processors import Places
from .records import EditHypothesis
from .state import RefinementState

if TYPE_CHECKING:
    from ..operations.base import Decision, EditOperation


class Decoding:
    """One batch while it is decoded, each sentence as often as it has candidates.

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
        sample: Batch,
        dictionary: Dictionary,
        placeholder: int,
        options: RefinementOptions,
    ) -> None:
        self.policy, self.options, self.operations = policy, options, policy.operations
        self.pad, self.bos, self.eos = dictionary.pad(), dictionary.bos(), dictionary.eos()
        self.unk, self.placeholder = dictionary.unk(), placeholder
        self.symbols = tuple(dictionary.symbols[: placeholder + 1])
        source, draft = sample["net_input"]["src_tokens"], sample.get("draft")
        if draft is None:
            draft = source.new_tensor([[self.bos, self.eos]]).expand(source.size(0), 2)
        self.device = draft.device
        memory, rows = policy.encode(source), torch.arange(source.size(0), device=source.device)
        self.noise: CandidateNoise | None = None
        if options.candidates > 1:
            rows = rows.repeat_interleave(options.candidates)
            source, draft, memory = source[rows], draft[rows], memory.select(rows)
            self.noise = CandidateNoise(options, sentence_keys(source, draft, self.pad))
        self.orders: EditConstraints | None = None
        if (marks := sample.get("marks")) is not None and bool(marks.any()):
            self.orders = EditConstraints(draft, marks[rows], symbol_edges(self.symbols))
        self.state = RefinementState(draft, memory, self.pad, options.retain_history)
        self.state.cap = self._length_cap(source, draft)
        self.processors = {
            operation.name: operation.processors(self) for operation in self.operations
        }
        self.symbol_offsets: Tensor | None = None  # V, what is added to the logits of symbols
        revisions = [operation for operation in self.operations if operation.stage == "revise"]
        self.last_revision = revisions[-1] if revisions else None

    def run(self) -> list[EditHypothesis]:
        """Algorithm 2: one hypothesis for every row, in order, once every sentence is finished."""
        state, most = self.state, self.options.max_iter
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

    def _let_leave(self, operation: "EditOperation", decision: "Decision", step: int) -> "Decision":
        """Sentences at rest leave as they stand: nothing is left to do, or an earlier state would
        come back. Returns the decision about the others, which the host has read."""
        state, adaptive = self.state, self.options.adaptive
        if operation.stage == "write":
            return decision
        if adaptive and operation is self.last_revision and state.seen is not None:
            outcome = operation.outcome(state, decision)
            is_back, is_last = self.read(decision, *state.seen_before(outcome))
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

    def read(self, decision: "Decision", *flags: Tensor) -> list[list[bool]]:
        """Tells the host, and the state, what a decision does; a device is waited for once.

        flags: R, bool, what else the host has to know. Returns them.
        """
        state = self.state
        moves = [] if decision.moves is None else [decision.moves]
        lengths = [] if decision.sizes else [decision.lengths]
        tensors = [*lengths, *moves, *flags]
        numbers: list[list[int]] = torch.stack(tensors).tolist() if tensors else []
        if lengths:
            decision.sizes = numbers.pop(0)
        resized = [now != before for now, before in zip(decision.sizes, state.sizes, strict=True)]
        moved = numbers.pop(0) if moves else [0] * len(resized)
        decision.changed = [size or bool(move) for size, move in zip(resized, moved, strict=True)]
        state.note_changes(decision)
        return [list(map(bool, flag)) for flag in numbers]

    def _drop(self, done: list[bool], decision: "Decision") -> "Decision":
        staying = self.state.drop(done)
        return decision if staying is None else decision.select(*staying)

    # what operations ask for ------------------------------------------------------------------

    def logits(
        self,
        operation: "EditOperation",
        where: Tensor | None = None,
        places: Tensor | None = None,
        writing: tuple[int, ...] | None = None,
    ) -> Tensor:
        """What the policy says of the present tokens (:meth:`.EditPolicy.logits`).

        ``where``: R × T, bool, where tokens are to be written, and ``places``, P, the same laid
        flat. ``writing``: the rows that have any; None: unknown.
        """
        state = self.state
        facts = state.facts(places, writing)
        state.note_reading(operation)
        return self.policy.logits(operation, state.tokens, state.memory, where, state.trace, facts)

    def processed(
        self, operation: "EditOperation", scores: Tensor, step: int, places: Places | None = None
    ) -> Tensor:
        """The scores that an operation's processors leave."""
        for processor in self.processors[operation.name]:
            scores = processor.scores(self, scores, step, places)
        return scores

    def revised(
        self,
        operation: "EditOperation",
        action: Tensor,
        scores: Tensor | None = None,
        places: Places | None = None,
    ) -> Tensor:
        """The action that an operation's processors leave."""
        for processor in self.processors[operation.name]:
            action = processor.action(self, action, scores, places)
        return action

    def looks_at_all(self, operation: "EditOperation") -> bool:
        """Whether a processor has to see all that is written at once."""
        return any(processor.looks_at_all for processor in self.processors[operation.name])

    def inner(self, tokens: Tensor) -> Tensor:
        """R × T, bool: neither padding nor ends."""
        return tokens.ne(self.pad) & tokens.ne(self.bos) & tokens.ne(self.eos)

    def blanks(self) -> tuple[Tensor, int, tuple[int, ...] | None]:
        """Where tokens are to be written, R × T, bool, how many they are, and in which rows; None
        where the host does not know these."""
        return self.state.tokens.eq(self.placeholder), self.state.opened, self.state.writing

    def limited(self, counts: Tensor) -> Tensor:
        """The ``counts`` of insertions, R × (T − 1), that the length limit leaves."""
        return limit_insertions(counts, self.state.cap - self.state.lengths)

    def allowed(self, logits: Tensor) -> Tensor:
        """A copy in single precision, P × V, without the symbols that are never written."""
        if self.symbol_offsets is None:
            self.symbol_offsets = torch.zeros(logits.size(1), device=logits.device)
            self.symbol_offsets[self.unk] -= self.options.unk_penalty
            for symbol in self._forbidden_symbols():  # numbers that the device need not be sent
                self.symbol_offsets[symbol] = float("-inf")
        return logits.float() + self.symbol_offsets

    # limits -----------------------------------------------------------------------------------

    def _forbidden_symbols(self) -> list[int]:
        return sorted({self.pad, self.bos, self.eos, self.placeholder})

    def _length_cap(self, source: Tensor, draft: Tensor) -> Tensor:
        """R: tokens, <s> and </s> included, beyond which nothing is inserted."""
        source_lengths = source.ne(self.pad).sum(1)
        words = (source_lengths - 2) * self.options.max_len_a + self.options.max_len_b
        drafted = draft.ne(self.pad).sum(1) - 2
        # with a limit near its length a draft would be deleted from and not inserted into
        cap = torch.maximum(words.long(), drafted + (drafted + 1) // 2) + 2
        limits = self.policy.max_positions()
        return cap if limits is None else cap.clamp(max=limits[1])
