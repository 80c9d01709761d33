"""Decoding one sentence over lists of numbers, without history, marks or candidates.

For one sentence arrays cost more than the numbers in them. Only speed depends on this:
:class:`.Decoding` answers the same.
"""

from collections.abc import Sequence
from typing import Any

from ..history import EditHypothesis, Termination, hypothesis
from .arrays import Array
from .decoding import DELETE, KEEP, length_caps
from .options import RefinementOptions
from .policy import EditState, FeaturePolicy, Symbols, Trace

#: of each token that is read: itself, its place in the draft (−1: it is newer), log p (nats) of the
#: action that put or kept it, and whether it was just deleted
Cells = list[tuple[int, int, float, bool]]


class Reader:
    """Makes what a policy reads of a source, and of the cells of one sentence."""

    def __init__(self, policy: FeaturePolicy, source: Array) -> None:
        self.policy, self.source = policy, source
        self.encoder_out = policy.encode(source)

    def array(self, numbers: Sequence[Any]) -> Array:
        """Returns an array where the policy computes."""
        return self.policy.arrays.as_tensor(numbers, self.source)

    def state(self, cells: Cells) -> EditState:
        """Returns the sentence."""
        left, trace = remaining(cells), None
        if self.policy.traces and len(left) < len(cells):
            tokens, _, _, gone = zip(*cells)
            trace = Trace(self.array([tokens]), self.array([gone]), self.policy.arrays)
        return EditState(self.array([[token for token, *_ in left]]), self.encoder_out, trace)

    def answer(
        self, cells: Cells, actions: float, steps: int, reason: Termination
    ) -> EditHypothesis:
        """Returns the sentence as it stands."""
        tokens, origin, scores, _ = map(self.array, zip(*cells))
        scores = self.policy.arrays.float32(scores)
        return hypothesis(tokens, scores, origin, actions, steps, reason)


def decode(
    policy: FeaturePolicy,
    source: Array,
    draft: Sequence[int],
    symbols: Symbols,
    options: RefinementOptions,
) -> EditHypothesis:
    """Decodes a sentence (Algorithm 2); arguments as of :class:`.Decoding`, the draft as a list.

    It has no marks; the options are plain, and the policy has ``best_tokens``.
    """
    best_tokens = policy.best_tokens
    assert best_tokens is not None
    (cap,) = length_caps(policy, source, [len(draft)], symbols.pad, options)
    reader, exit = Reader(policy, source), policy.exits["placeholder"]
    cells = [(token, place, 0.0, False) for place, token in enumerate(draft)]
    seen: list[Any] = []  # the tokens that deletions have left
    actions = 0.0
    for step in range(options.max_iter):
        # delete words
        state = reader.state(cells)
        features = policy.features("deletion", state)
        logits = policy.head_logits("deletion", features[policy.exits["deletion"]], state)
        logs, inner = policy.arrays.log_softmax(logits)[0], symbols.inner(state.tokens[0])
        deleted = inner & (policy.arrays.xp.exp(logs[:, DELETE]) > options.delete_threshold)
        kept, flags = (logs[:, KEEP] * inner).tolist(), deleted.tolist()
        cells = [
            (token, place, score if place < 0 else log, flag)
            for (token, place, score, _), log, flag in zip(cells, kept, flags)
        ]
        left = remaining(cells)
        tokens = [token for token, *_ in left]
        if tokens in seen:
            is_settled = tokens == seen[-1] and left == cells
            return reader.answer(cells, actions, step, "unchanged" if is_settled else "loop")
        seen.append(tokens)
        actions += float((logs[:, DELETE] * deleted).sum())

        # insert placeholders
        if left != cells or exit not in features:
            state = reader.state(cells)
            features = policy.features("placeholder", state)
        logits = policy.head_logits("placeholder", features[exit], state)
        slots, room = iter([0, *logits.argmax(-1)[0].tolist()]), cap - len(left)
        opened: Cells = []
        for cell in cells:  # in a slot what was deleted is first
            count = 0 if cell[-1] else max(min(next(slots), room), 0)
            room -= count
            opened += [(symbols.placeholder, -1, 0.0, False)] * count
            opened.append(cell)
        if opened == left:
            return reader.answer(left, actions, step, "unchanged")

        # fill placeholders
        cells, state = remaining(opened), reader.state(opened)
        state.where = state.tokens == symbols.placeholder
        state.places = policy.arrays.flatnonzero(state.where, None)
        if len(state.places):
            best, scores = best_tokens(state)
            for place, token, score in zip(state.places.tolist(), best.tolist(), scores.tolist()):
                cells[place] = token, -1, score, False
                actions += score
    return reader.answer(cells, actions, options.max_iter, "max_iterations")


def remaining(cells: Cells) -> Cells:
    """Returns the cells that are not deleted."""
    return [cell for cell in cells if not cell[-1]]
