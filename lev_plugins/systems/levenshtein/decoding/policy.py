"""What decoding asks of a model: three edit policies that read one source; several models as one.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, V symbols, K the most
tokens that can be missing in one slot, P tokens to be written. Slot k lies between tokens k and
k + 1. Sequences begin with <s>, end with </s> and are padded on the right.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeGuard

import torch
import torch.nn.functional as F
from torch import Tensor

from ..trace import Trace


class EditPolicy:
    """A model that can be decoded with: deletion, placeholder and token policies.

    ``memory`` is what :meth:`encode` has made: ``memory.select(rows)`` is that of some of its B
    sentences. Logits are of any floating type and in any range; those at padding are ignored.

    Attributes:
        traces: whether it reads traces; else none are made.
    """

    traces = False

    def encode(self, src_tokens: Tensor) -> Any:
        """B × S tokens → what the three policies read."""
        raise NotImplementedError

    def deletion_logits(self, tokens: Tensor, memory: Any) -> Tensor:
        """Of keeping (0) and deleting (1) each of B × T tokens: B × T × 2."""
        raise NotImplementedError

    def placeholder_logits(self, tokens: Tensor, memory: Any, trace: Trace | None = None) -> Tensor:
        """Of the number of tokens missing in each slot: B × (T − 1) × (K + 1).

        trace: the same sentences with what was just deleted; None: nothing was.
        """
        raise NotImplementedError

    def token_logits(
        self, tokens: Tensor, memory: Any, where: Tensor, trace: Trace | None = None
    ) -> Tensor:
        """Of the tokens at ``where`` (B × T, bool, P true), in row-major order: P × V."""
        raise NotImplementedError

    def with_features(self, tokens: Tensor, memory: Any) -> Any:
        """The memory with what deletion and placeholders read of B × T tokens, to save time."""
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


@dataclass(frozen=True)
class EnsembleMemory:
    """The memories of the members."""

    members: tuple[Any, ...]

    def select(self, rows: Tensor) -> "EnsembleMemory":
        """The memories of the sentences at ``rows``."""
        return EnsembleMemory(tuple(member.select(rows) for member in self.members))


class EnsemblePolicy(EditPolicy):
    """A policy whose probabilities are the mean of its members'; it returns their logarithms.

    The members share their dictionaries and may differ in all else; one that can insert fewer
    tokens at once gives more a probability of 0.
    """

    def __init__(self, policies: Sequence[EditPolicy]) -> None:
        self.policies = [policy.eval() for policy in policies]
        self.traces = any(policy.traces for policy in policies)

    def max_positions(self) -> tuple[int, int] | None:
        """The tightest limits of the members."""
        known = [one for policy in self.policies if (one := policy.max_positions()) is not None]
        return (min(one[0] for one in known), min(one[1] for one in known)) if known else None

    def encode(self, src_tokens: Tensor) -> EnsembleMemory:
        return EnsembleMemory(tuple(policy.encode(src_tokens) for policy in self.policies))

    def with_features(self, tokens: Tensor, memory: EnsembleMemory) -> EnsembleMemory:
        pairs = zip(self.policies, memory.members)
        return EnsembleMemory(tuple(policy.with_features(tokens, own) for policy, own in pairs))

    def deletion_logits(self, tokens: Tensor, memory: EnsembleMemory) -> Tensor:
        return self._mean("deletion_logits", tokens, memory)

    def placeholder_logits(
        self, tokens: Tensor, memory: EnsembleMemory, trace: Trace | None = None
    ) -> Tensor:
        """K is the largest of the members'."""
        return self._mean("placeholder_logits", tokens, memory, trace)

    def token_logits(
        self, tokens: Tensor, memory: EnsembleMemory, where: Tensor, trace: Trace | None = None
    ) -> Tensor:
        return self._mean("token_logits", tokens, memory, where, trace)

    def _mean(self, head: str, tokens: Tensor, memory: EnsembleMemory, *others: Any) -> Tensor:
        """Logarithm of the mean of the members' probabilities, over the last dimension."""
        pairs = zip(self.policies, memory.members)
        logits = [getattr(policy, head)(tokens, own, *others) for policy, own in pairs]
        logs = [torch.log_softmax(one.float(), dim=-1) for one in logits]
        width = max(one.size(-1) for one in logs)
        wide = [F.pad(one, (0, width - one.size(-1)), value=-math.inf) for one in logs]
        return torch.logsumexp(torch.stack(wide), dim=0) - math.log(len(logs))
