"""Decoding with a Levenshtein Transformer: Algorithm 2 of the paper, batched.

What is decoded with is an :class:`~.policy.EditPolicy`: anything that has its four methods.
"""

from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, cast

import torch
from fairseq.data import Dictionary
from torch import Tensor

from ..errors import UserError
from ..ops.edits import compact, limit_insertions
from .policy import EditPolicy, MemoryT
from .state import RefinementState, equal_rows

# generation options of fairseq that ask for what edit models do not do
UNSUPPORTED = (
    "iter_decode_with_external_reranker",
    "decoding_format",
    "sampling",
    "retain_dropout",
    "constraints",
    "lm_path",
    "score_reference",
    "print_alignment",
    "replace_unk",
)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


@dataclass(frozen=True)
class RefinementOptions:
    """How to decode.

    max_iter: T_max, iterations at most. empty_penalty: γ in [0, 3], subtracted from the logit of
    inserting nothing (§3.3). delete_threshold: probability above which a token is deleted.
    adaptive: stop when nothing changes or a state comes back; else always run T_max iterations.
    max_len_a, max_len_b: nothing is inserted beyond a·|source| + b tokens. unk_penalty:
    subtracted from the logit of the unknown symbol. stock: fairseq's own rules (see
    :meth:`RefinementGenerator.generate`).
    """

    max_iter: int = 10
    empty_penalty: float = 0.0
    delete_threshold: float = 0.5
    adaptive: bool = True
    retain_history: bool = False
    max_len_a: float = 0.0
    max_len_b: int = 200
    unk_penalty: float = 0.0
    stock: bool = False

    def __post_init__(self) -> None:
        if self.max_iter < 1:
            raise UserError(
                f"--iter-decode-max-iter {self.max_iter}: at least one iteration is needed"
            )
        if not 0 <= self.delete_threshold <= 1:
            raise UserError(f"--delete-threshold {self.delete_threshold} is outside [0, 1]")

    @classmethod
    def from_generation(
        cls, args: object, delete_threshold: float, stock: bool
    ) -> "RefinementOptions":
        """From fairseq's generation options (or any namespace with some of them).

        Raises:
            UserError: an option that edit models do not have.
        """
        for name in ("iter_decode_with_beam", "nbest"):
            if getattr(args, name, 1) > 1:
                raise UserError(
                    f"{_flag(name)} {getattr(args, name)} is not supported by edit models, which "
                    "give one answer a sentence"
                )
        for name in UNSUPPORTED:
            if getattr(args, name, None):
                raise UserError(f"{_flag(name)} is not supported by edit models; leave it out")
        return cls(
            max_iter=getattr(args, "iter_decode_max_iter", 10),
            empty_penalty=getattr(args, "iter_decode_eos_penalty", 0.0),
            delete_threshold=delete_threshold,
            adaptive=not getattr(args, "iter_decode_force_max_iter", False),
            retain_history=getattr(args, "retain_iter_history", False),
            max_len_a=getattr(args, "max_len_a", 0.0),
            max_len_b=getattr(args, "max_len_b", 200),
            unk_penalty=getattr(args, "unkpen", 0.0),
            stock=stock,
        )


class RefinementGenerator:
    """Edits drafts, or writes from nothing, in at most ``max_iter`` iterations."""

    def __init__(
        self, dictionary: Dictionary, placeholder: int, options: RefinementOptions
    ) -> None:
        self.pad, self.bos, self.eos = dictionary.pad(), dictionary.bos(), dictionary.eos()
        self.unk, self.placeholder = dictionary.unk(), placeholder
        self.options = options
        self.never = sorted({self.pad, self.bos, self.eos, placeholder})
        # fairseq-generate strips these from what it prints
        self.symbols_to_strip_from_output = {self.eos, self.bos}

    @torch.no_grad()
    def generate(
        self, models: Sequence[EditPolicy[MemoryT]], sample: Dict[str, Any], **unused: Any
    ) -> List[List[Dict[str, Any]]]:
        """One hypothesis a sentence, in the order of the batch.

        Args:
            models: one policy.
            sample: a batch with ``net_input.src_tokens`` (B × S) and, where there are drafts,
                ``draft`` (B × N).

        Returns:
            for each sentence a list of one hypothesis: tokens (with <s> and </s>),
            positional_scores (nats), score (their mean), steps (iterations carried out),
            terminated (unchanged, loop or max_iterations), origin (position in the draft of
            the tokens that stand since then, −1 for others), history (with
            ``retain_history``: the tokens after every phase).

        With ``options.stock`` the rules are those of fairseq's levenshtein_transformer: whole
        iterations are compared, there is one iteration more than asked for, ``<unk>`` is
        refilled, any symbol may be written, and the length limit is twice the source, softly.

        Raises:
            UserError: more than one model.
        """
        if len(models) != 1:
            raise UserError(
                f"{len(models)} checkpoints were given; ensembles of edit models are not "
                "supported, give one"
            )
        model: Any = models[0]  # a module, as a rule
        if getattr(model, "training", False):
            model.eval()
        policy: EditPolicy[MemoryT] = model
        source = sample["net_input"]["src_tokens"]
        draft = sample.get("draft")
        if draft is None:
            draft = source.new_tensor([[self.bos, self.eos]]).expand(source.size(0), 2)
        memory = policy.encode(source)
        state = RefinementState(draft, memory, self.pad, self.options.retain_history)
        cap = self._length_cap(policy, source)
        if self.options.stock:
            self._run_stock(policy, state, cap)
        else:
            self._run(policy, state, cap)
        # both loops end when every sentence is finished
        return [[hypothesis] for hypothesis in cast(List[Dict[str, Any]], state.finished)]

    def _run(
        self, policy: EditPolicy[MemoryT], state: RefinementState[MemoryT], cap: Tensor
    ) -> None:
        """Algorithm 2, with loops of any period."""
        for step in range(self.options.max_iter):
            keep = self._keep(policy, state)
            if self.options.adaptive:
                outcome = compact(state.tokens, keep, self.pad)
                again, settled = state.seen_before(outcome)
                settled = settled & (keep.sum(1) == state.lengths)
                keep, again = state.finish(settled, step, "unchanged", keep, again)
                (keep,) = state.finish(again, step, "loop", keep)
                if state.empty:
                    return
            intact = keep.sum(1) == state.lengths
            state.keep(keep)
            counts = self._counts(policy, state, cap)
            if self.options.adaptive:
                idle = intact & ~counts.any(1)
                keep, counts = state.finish(idle, step, "unchanged", keep, counts)
                if state.empty:
                    return
                state.note()
            state.record("delete", keep)
            self._insert(policy, state, counts)
        everyone = torch.ones_like(state.rows, dtype=torch.bool)
        state.finish(everyone, self.options.max_iter, "max_iterations")

    def _run_stock(
        self, policy: EditPolicy[MemoryT], state: RefinementState[MemoryT], cap: Tensor
    ) -> None:
        """fairseq's loop: stops when a whole iteration changes nothing."""
        for step in range(self.options.max_iter + 1):
            before = state.tokens
            keep = self._keep(policy, state)
            state.keep(keep)
            state.record("delete", keep)
            self._insert(policy, state, self._counts(policy, state, cap))
            done = equal_rows(state.tokens, before, self.pad)
            if step == self.options.max_iter:
                state.finish(torch.ones_like(done), step, "max_iterations")
            elif self.options.adaptive:
                state.finish(done, step, "unchanged")
            if state.empty:
                return

    # the three phases -------------------------------------------------------------------------

    def _keep(self, policy: EditPolicy[MemoryT], state: RefinementState[MemoryT]) -> Tensor:
        """Which tokens the deletion policy keeps, B × T, bool; notes why drafted ones stay."""
        real = state.tokens.ne(self.pad)
        inner = real & state.tokens.ne(self.bos) & state.tokens.ne(self.eos)
        if not bool(inner.any()):
            return real
        logits = policy.deletion_logits(state.tokens, state.memory).float()
        log_probs = torch.log_softmax(logits, dim=-1)
        delete = log_probs[..., 1].exp() > self.options.delete_threshold
        state.scores = torch.where(inner & (state.origin >= 0), log_probs[..., 0], state.scores)
        return real & ~(inner & delete)

    def _counts(
        self, policy: EditPolicy[MemoryT], state: RefinementState[MemoryT], cap: Tensor
    ) -> Tensor:
        """How many tokens to insert in every slot, B × (T − 1), within the length limit."""
        cap = cap[state.rows]
        logits = policy.placeholder_logits(state.tokens, state.memory).float()
        if self.options.empty_penalty:
            logits = logits.clone()
            logits[..., 0] -= self.options.empty_penalty
        slots = state.tokens[:, 1:].ne(self.pad)
        counts = logits.argmax(-1).masked_fill(~slots, 0)
        if self.options.stock:
            counts = torch.minimum(counts, cap.unsqueeze(1))
            return counts.masked_fill((state.lengths >= cap).unsqueeze(1), 0)
        return limit_insertions(counts, cap - state.lengths)

    def _insert(
        self, policy: EditPolicy[MemoryT], state: RefinementState[MemoryT], counts: Tensor
    ) -> None:
        """Opens the slots and fills every placeholder."""
        if bool(counts.any()):
            state.open(counts, self.placeholder)
        state.record("placeholder")
        where = state.tokens.eq(self.placeholder)
        if self.options.stock:
            where = where | state.tokens.eq(self.unk)
        if bool(where.any()):
            logits = policy.token_logits(state.tokens, state.memory, where).float()
            never = [self.placeholder] if self.options.stock else self.never
            barred = torch.tensor(never, device=logits.device)
            logits = logits.index_fill(1, barred, float("-inf"))
            if self.options.unk_penalty:
                logits[:, self.unk] -= self.options.unk_penalty
            best, tokens = logits.max(1)
            state.fill(where, tokens, best - logits.logsumexp(1))
        state.record("token", where)

    # limits ---------------------------------------------------------------------------------

    def _length_cap(self, policy: EditPolicy[MemoryT], source: Tensor) -> Tensor:
        """B: tokens, <s> and </s> included, beyond which nothing is inserted."""
        source_lengths = source.ne(self.pad).sum(1)
        if self.options.stock:
            return (2 * source_lengths).clamp(min=10)
        words = (source_lengths - 2) * self.options.max_len_a + self.options.max_len_b
        cap = words.long() + 2
        limits = getattr(policy, "max_positions", lambda: None)()
        return cap if limits is None else cap.clamp(max=limits[1])
