"""Decoding that reads no sentence twice: features are kept until a sentence changes.

Only speed depends on it: a policy answers the same without.

Shapes: B sentences, T tokens of the sequence being edited.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from .arrays import Array, Arrays
from .policy import EditPolicy, EditState, FeaturePolicy

#: at most this many gathered sentences per skipped one: gathering copies encoder states
MOST_GATHERED = 8


@dataclass
class FeatureCache:
    """The encoder's output, and by exit the features read last, with the head that read them."""

    encoder_out: Any
    arrays: Arrays
    features: dict[Any, tuple[Array, str]] = field(default_factory=dict)

    def select(self, rows: Array) -> "FeatureCache":
        """Returns those of the sentences at ``rows``."""
        kept = {exit: (features[rows], head) for exit, (features, head) in self.features.items()}
        return FeatureCache(self.encoder_out.select(rows), self.arrays, kept)


class ReusedFeatures(EditPolicy):
    """A policy that reads neither unchanged sentences again nor those with nothing to write."""

    arrays = property(attrgetter("policy.arrays"))
    traces = property(attrgetter("policy.traces"))
    max_positions = property(attrgetter("policy.max_positions"))

    def __init__(self, policy: FeaturePolicy) -> None:
        self.policy = policy
        if policy.best_tokens is not None:
            self.best_tokens = self._best_tokens

    def encode(self, source: Array) -> FeatureCache:
        """Runs the encoder: B × S tokens."""
        return FeatureCache(self.policy.encode(source), self.arrays)

    def logits(self, head: str, state: EditState) -> Array:
        """See the base class."""
        cache: FeatureCache = state.encoder_out
        if head == "token":
            state = self._writing(state)
            features = self.policy.features(head, state)[self.policy.exits[head]]
        else:
            state = replace(state, encoder_out=cache.encoder_out)
            features = self._reuse(head, state, cache)
        return self.policy.head_logits(head, features, state)

    def _best_tokens(self, state: EditState) -> tuple[Array, Array]:
        assert self.policy.best_tokens is not None
        return self.policy.best_tokens(self._writing(state))

    def _writing(self, state: EditState) -> EditState:
        """Returns the state of the sentences with tokens to be written, where they are few."""
        state = replace(state, encoder_out=state.encoder_out.encoder_out)
        rows = state.counts.writing
        if rows is None or not self._are_few(rows, state.tokens):
            return state
        return state.select(rows, self.arrays)

    def _reuse(self, head: str, state: EditState, cache: FeatureCache) -> Array:
        """Returns the features for a head; only changed sentences go through the decoder."""
        exit = self.policy.exits[head]
        cached, reader = cache.features.get(exit, (None, ""))
        changed = state.counts.changed.get(reader)
        tokens, _ = state.inputs()
        if cached is None or changed is None or (changed and not self._are_few(changed, tokens)):
            features = self.policy.features(head, state)
        elif changed:
            part = self.policy.features(head, state.select(changed, self.arrays))
            rows = self.arrays.as_tensor(changed, tokens)
            features = {}
            for other, values in part.items():
                features[other] = self.arrays.resize(cache.features[other][0], tokens.shape[1])
                features[other][rows] = values
        else:
            features = {exit: self.arrays.resize(cached, tokens.shape[1])}
        if state.trace is None:
            cache.features |= {other: (values, head) for other, values in features.items()}
        else:  # a trace is read once, and what the head read before is no longer of these tokens
            cache.features = {
                other: kept for other, kept in cache.features.items() if kept[1] != head
            }
        return features[exit]

    def _are_few(self, rows: Sequence[int], tokens: Array) -> bool:
        """Returns whether decoding these rows alone is cheaper than decoding the whole batch."""
        spared = len(tokens) - len(rows)
        enough = spared * tokens.shape[1] >= self.policy.least_spared
        return enough and len(rows) <= MOST_GATHERED * spared


def reused(policy: EditPolicy) -> EditPolicy:
    """Returns the policy with its features reused; as it is, if it has none."""
    return ReusedFeatures(policy) if isinstance(policy, FeaturePolicy) else policy
