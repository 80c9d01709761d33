"""What decoding asks of a model: three edit policies that read one source; several models as one.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, V symbols, K the most
tokens that can be missing in one slot, P tokens to be written. Slot k lies between tokens k and
k + 1. Sequences begin with <s>, end with </s> and are padded on the right.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeGuard

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Facts:
    """What the host knows of sequences, so that no device is waited for to find it out.

    changed: rows that are not as :meth:`EditPolicy.with_features` has read them; None: unknown.
    slots: how many there are in all. deleted: tokens in the trace, in all. places: P, long, of the
    tokens to be written, in the batch laid flat.
    """

    changed: tuple[int, ...] | None = None
    slots: int | None = None
    deleted: int | None = None
    places: Tensor | None = None


class EditPolicy:
    """A model that can be decoded with: deletion, placeholder and token policies.

    Logits are of any floating type and in any range; those at padding are ignored. A trace is what
    was just deleted from the tokens (:class:`..trace.Trace`), None where nothing was.
    """

    traces = False  #: whether it reads traces; else none are made
    #: B × S source tokens → a memory for the three; ``memory.select(rows)`` is that of some of B
    encode: Callable[..., Any]
    #: tokens, memory → logits of keeping (0) and deleting (1) each token: B × T × 2
    deletion_logits: Callable[..., Tensor]
    #: tokens, memory, trace → of the number of tokens missing in each slot: B × (T − 1) × (K + 1)
    placeholder_logits: Callable[..., Tensor]
    #: tokens, memory, where, trace → of the tokens at ``where`` (B × T, bool, P true): P × V
    token_logits: Callable[..., Tensor]

    def with_features(self, tokens: Tensor, memory: Any) -> Any:
        """The memory with what deletion and placeholders read of B × T tokens, to save time."""
        return memory

    def with_facts(self, memory: Any, facts: Facts) -> Any:
        """The memory with what is known of the tokens that the next logits are asked for."""
        return memory

    def max_positions(self) -> tuple[int, int] | None:
        """The longest source and target, in tokens, to which decoding keeps; None: any."""
        return None

    def eval(self) -> Self:
        """Sets it for decoding, as modules can be."""
        return self


def is_edit_model(model: object) -> TypeGuard[EditPolicy]:
    """Whether a model, or a class of models, edits by policies; others write from left to right."""
    return hasattr(model, "deletion_logits")  # also one that fairseq has wrapped, to train it


class EnsembleMemory(list[Any]):
    """The memories of the members."""

    def select(self, rows: Tensor) -> "EnsembleMemory":
        return EnsembleMemory(member.select(rows) for member in self)


class EnsemblePolicy(EditPolicy):
    """A policy whose probabilities are the mean of its members', which share their dictionaries."""

    def __init__(self, policies: Sequence[EditPolicy]) -> None:
        self.policies = list(policies)
        self.traces = any(policy.traces for policy in policies)

    def max_positions(self) -> tuple[int, int] | None:
        """The tightest limits of the members."""
        known = [one for policy in self.policies if (one := policy.max_positions())]
        return (min(one[0] for one in known), min(one[1] for one in known)) if known else None

    def encode(self, src_tokens: Tensor) -> EnsembleMemory:
        return EnsembleMemory(policy.encode(src_tokens) for policy in self.policies)

    def with_features(self, tokens: Tensor, memory: EnsembleMemory) -> EnsembleMemory:
        pairs = zip(self.policies, memory)
        return EnsembleMemory(policy.with_features(tokens, own) for policy, own in pairs)

    def with_facts(self, memory: EnsembleMemory, facts: Facts) -> EnsembleMemory:
        pairs = zip(self.policies, memory)
        return EnsembleMemory(policy.with_facts(own, facts) for policy, own in pairs)

    def deletion_logits(self, *asked: Any) -> Tensor:
        return self._mean("deletion_logits", *asked)

    def placeholder_logits(self, *asked: Any) -> Tensor:
        return self._mean("placeholder_logits", *asked)

    def token_logits(self, *asked: Any) -> Tensor:
        return self._mean("token_logits", *asked)

    def _mean(self, head: str, tokens: Tensor, memory: EnsembleMemory, *others: Any) -> Tensor:
        """Logarithm of the mean of the members' probabilities, over the last dimension."""
        pairs = zip(self.policies, memory)
        logits = [getattr(policy, head)(tokens, own, *others) for policy, own in pairs]
        logs = [torch.log_softmax(one.float(), dim=-1) for one in logits]
        width = max(one.size(-1) for one in logs)  # the largest K: others never insert as many
        wide = [F.pad(one, (0, width - one.size(-1)), value=-math.inf) for one in logs]
        return torch.logsumexp(torch.stack(wide), dim=0) - math.log(len(logs))
