"""What an edit operation does in decoding: its decision, and its action ℰ(y, a) (paper, §2.2).

Shapes: R candidates (rows), T tokens of the sequence being edited, P tokens to be written.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .arrays import NUMPY, Array, Arrays
from .processors import (
    EmptyPenalty,
    LengthLimit,
    Noise,
    OrderedDeletions,
    OrderedSlots,
    OrderedTokens,
    Places,
    Processor,
    WholeWords,
)

if TYPE_CHECKING:
    from .decoding import Decoding
    from .state import RefinementState

#: what an operation does to a sentence: it changes what stands, opens slots, or fills them
Stage = Literal["revise", "open", "write"]
KEEP, DELETE = 0, 1  # the classes of deletion


@dataclass
class Decision:
    """What an operation is going to do to R sentences.

    Attributes:
        action: of the operation's own kind: which tokens are kept (R × T), how many are inserted
            (R × (T − 1)); or what is written (P).
        lengths: R, the tokens that each sentence has afterwards.
        moves: R, bool, sentences that change although they stay as long; None: none.
        scores: log-probabilities (nats), R × T of taking each token away, or P of those written.
        where, places: R × T, bool, and P, the same laid flat: where tokens are written.
        sizes, changed: R numbers on the host, ``lengths`` and whether each sentence changes.
    """

    action: Array
    lengths: Array
    moves: Array | None = None
    scores: Array | None = None
    where: Array | None = None
    places: Array | None = None
    sizes: list[int] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)

    def select(self, rows: Array, stay: list[int], arrays: Arrays) -> "Decision":
        """The decisions about the sentences at ``rows``, which are ``stay`` on the host.

        Tokens that are written (P) belong to no row: nobody leaves before they are.
        """
        chosen: dict[str, Any] = {
            "sizes": [self.sizes[row] for row in stay],
            "changed": [self.changed[row] for row in stay],
        }
        for name in ("action", "lengths", "moves", "scores"):
            values = getattr(self, name)
            if values is not None:
                chosen[name] = arrays.take(values, rows)
        return replace(self, **chosen)


class Operation:
    """One kind of edit, as the decoding loop knows it.

    Attributes:
        name: in histories, and of its head.
        stage: an iteration revises, opens, writes. Before the last revision acts, sentences are
            compared with their earlier states; before slots are opened, those at rest leave.
        arrays: what it computes with.
    """

    name: ClassVar[str]
    stage: ClassVar[Stage]
    arrays: ClassVar[Arrays] = NUMPY

    def processors(self, decoding: "Decoding") -> list[Processor]:
        """What changes its choice in decoding, in the order in which they are asked."""
        return []

    def decide(self, decoding: "Decoding", step: int) -> Decision:
        """The likeliest action that the processors leave, in iteration ``step``."""
        raise NotImplementedError

    def outcome(self, state: "RefinementState", decision: Decision) -> Array:
        """R × T: the tokens that a revision would leave, as wide as they are."""
        raise NotImplementedError

    def act(self, decoding: "Decoding", decision: Decision) -> None:
        """ℰ(y, a): changes ``decoding.state``.

        All that it has of each token follows (:meth:`.RefinementState.move`). Where a token is new,
        ``origin`` and ``since`` are −1, ``scores`` is its log-probability, and the sum of a row's
        new ones is added to ``actions``.
        """
        raise NotImplementedError

    def noted(
        self, state: "RefinementState", decision: Decision
    ) -> tuple[Array | None, Array | None]:
        """For histories, once it has acted: the mask and the scores of a step, R × T.

        A revision's are of the tokens before it: which were kept, and log p of deleting each. What
        does not delete has no such scores. Another's are of those that stand now.
        """
        return None, None

    def rest(self, logits: Array, inner: Array, real: Array) -> Array:
        """R: log-probability (nats) of leaving sentences as they are; of revisions, and of what
        opens slots.

        logits: those that :meth:`decide` reads. real: R × T, bool, tokens; inner: without the ends.
        """
        raise NotImplementedError


class Delete(Operation):
    """π_del: of every token but ``<s>`` and ``</s>``, whether it goes (Eq. 3)."""

    name, stage = "deletion", "revise"

    def processors(self, decoding: "Decoding") -> list[Processor]:
        """Whole words first: an order on one token does not move its neighbours."""
        processors: list[Processor] = []
        if decoding.options.delete_words:
            processors.append(WholeWords(decoding))
        if decoding.orders is not None:
            processors.append(OrderedDeletions(decoding.orders))
        return processors

    def decide(self, decoding: "Decoding", step: int) -> Decision:
        """Which tokens are kept, R × T. Notes log p(keep) as the score of each draft token."""
        state, arrays = decoding.state, self.arrays
        real = state.tokens != decoding.pad
        if state.tokens.shape[1] == 2:  # <s> and </s> alone
            return unchanged(state, real)
        log_probs = arrays.log_softmax(decoding.logits(self))
        log_keep, log_delete = log_probs[..., KEEP], log_probs[..., DELETE]
        probability = decoding.processed(self, arrays.exp(log_delete), step)
        deleted = probability > decoding.options.delete_threshold
        deleted = decoding.revised(self, deleted)
        inner = decoding.inner(state.tokens)
        keep = real & ~(inner & deleted)
        of_draft = inner & (state.origin >= 0)
        state.scores = arrays.where(of_draft, log_keep, state.scores)
        return Decision(keep, keep.sum(1), scores=log_delete)

    def outcome(self, state: "RefinementState", decision: Decision) -> Array:
        """R × T: what is kept, at the left."""
        keep = decision.action
        compact = self.arrays.compaction(keep, keep.shape[1])
        return compact(state.tokens, state.pad)

    def act(self, decoding: "Decoding", decision: Decision) -> None:
        """Removes what is not kept; where the policy reads traces, it leaves one."""
        policy = decoding.policy
        decoding.state.keep(decision, policy.trace_of if policy.traces else None)

    def noted(self, state: "RefinementState", decision: Decision) -> tuple[Array, Array | None]:
        """Which tokens were kept, and log p(delete) of each."""
        return decision.action, decision.scores

    def rest(self, logits: Array, inner: Array, real: Array) -> Array:
        """R: of keeping every token."""
        keep = self.arrays.log_softmax(logits)[..., KEEP]
        return self.arrays.fill(keep, ~inner, 0.0).sum(1)


class Insert(Operation):
    """π_plh: of every slot, how many tokens are missing in it (Eq. 4)."""

    name, stage = "placeholder", "open"

    def processors(self, decoding: "Decoding") -> list[Processor]:
        """The length limit last: it cuts what the others ask for."""
        processors: list[Processor] = []
        if decoding.options.empty_penalty:
            processors.append(EmptyPenalty(decoding.options.empty_penalty))
        if decoding.noise is not None:
            processors.append(Noise(decoding.noise, phase=0))
        if decoding.orders is not None:
            processors.append(OrderedSlots(decoding.orders))
        return [*processors, LengthLimit()]

    def decide(self, decoding: "Decoding", step: int) -> Decision:
        """How many tokens to insert in every slot, R × (T − 1)."""
        state, arrays = decoding.state, self.arrays
        logits = arrays.single(decoding.logits(self))
        logits = decoding.processed(self, logits, step)
        is_padding = state.tokens[:, 1:] == decoding.pad
        counts = arrays.fill(logits.argmax(-1), is_padding, 0)
        counts = decoding.revised(self, counts)
        return Decision(counts, state.lengths + counts.sum(1))

    def act(self, decoding: "Decoding", decision: Decision) -> None:
        """Opens the slots."""
        decoding.state.open(decision, decoding.placeholder)

    def rest(self, logits: Array, inner: Array, real: Array) -> Array:
        """R: of inserting nothing in any slot."""
        nothing = self.arrays.log_softmax(logits)[..., 0]
        return self.arrays.fill(nothing, ~real[:, 1:], 0.0).sum(1)


class Fill(Operation):
    """π_tok: of every placeholder, which token takes its place (Eq. 5)."""

    name, stage = "token", "write"

    def processors(self, decoding: "Decoding") -> list[Processor]:
        """Noise before orders: what is forbidden stays so."""
        processors: list[Processor] = []
        if decoding.noise is not None:
            processors.append(Noise(decoding.noise, phase=1))
        if decoding.orders is not None:
            processors.append(OrderedTokens(decoding.orders))
        return processors

    def decide(self, decoding: "Decoding", step: int) -> Decision:
        """The likeliest token for each placeholder, P."""
        state, arrays = decoding.state, self.arrays
        where, count, writing = decoding.placeholders()
        places = arrays.places(where, count) if count else arrays.positions(0, where)
        decision = Decision(places, state.lengths, where=where, places=places, sizes=state.sizes)
        if not count:
            return decision
        likeliest = decoding.policy.likeliest
        if likeliest is not None and decoding.is_free(self):
            decision.action, decision.scores = likeliest(
                state.tokens, state.memory, where, state.trace
            )
        else:
            logits = decoding.logits(self, where, places, writing)
            self._choose(decoding, decision, logits, step)
        return decision

    def _choose(self, decoding: "Decoding", decision: Decision, logits: Array, step: int) -> None:
        """The likeliest of P × V that the processors leave, and their log-probabilities; a few
        rows at a time, while the cache holds them."""
        arrays = self.arrays
        count = len(logits)
        size = count if decoding.looks_at_all(self) else arrays.rows_at_once(logits)
        tokens, scores = [], []
        for first in range(0, count, size):
            rows = slice(first, first + size)
            places = Places(decision.where, decision.action[rows])
            allowed = decoding.allowed(logits[rows])
            preferred = decoding.processed(self, allowed, step, places)
            best = arrays.likeliest(preferred)
            best = decoding.revised(self, best, preferred, places)
            likelihood = arrays.gather(allowed, best[:, None])[:, 0]
            tokens.append(best)
            scores.append(likelihood - arrays.log_sum_exp(allowed))
        decision.action = arrays.concatenate(tokens, 0)
        decision.scores = arrays.concatenate(scores, 0)

    def act(self, decoding: "Decoding", decision: Decision) -> None:
        """Writes the tokens."""
        if len(decision.action):
            decoding.state.fill(decision)

    def noted(self, state: "RefinementState", decision: Decision) -> tuple[Array | None, Array]:
        """Which tokens are new, and of each that stands log p of what put or kept it."""
        return decision.where, state.scores


def unchanged(state: "RefinementState", action: Array) -> Decision:
    """The decision to leave all sentences as they are, which the host knows."""
    return Decision(
        action,
        state.lengths,
        scores=state.arrays.zeros(state.scores.shape, state.scores),
        sizes=list(state.sizes),
        changed=[False] * len(state.sizes),
    )
