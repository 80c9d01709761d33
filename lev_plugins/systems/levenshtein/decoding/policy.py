"""What decoding asks of a model: three edit policies that read one source; several models as one.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, V symbols, K the most
tokens that can be missing in one slot, P tokens to be written. Slot k lies between tokens k and
k + 1. Sequences begin with <s>, end with </s> and are padded on the right.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeGuard, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..trace import Trace


class Memory(Protocol):
    """What an encoder leaves for the policies; one row for each of B sentences."""

    def select(self, rows: Tensor) -> Self:
        """The memory of the sentences at ``rows`` (long indices), in that order."""


MemoryT = TypeVar("MemoryT", bound=Memory)


class EditPolicy(Generic[MemoryT]):
    """A model that can be decoded with: deletion, placeholder and token policies.

    Logits are of any floating type and may be in any range; those at padding are ignored. A
    policy reads no memory but its own.

    Attributes:
        traces: whether it reads traces (:class:`..trace.Trace`); else none is made for it.
    """

    traces = False

    def encode(self, src_tokens: Tensor) -> MemoryT:
        """B × S tokens → what the three policies read."""
        raise NotImplementedError

    def deletion_logits(self, tokens: Tensor, memory: MemoryT) -> Tensor:
        """Of keeping (0) and deleting (1) each of B × T tokens: B × T × 2."""
        raise NotImplementedError

    def placeholder_logits(
        self, tokens: Tensor, memory: MemoryT, trace: Trace | None = None
    ) -> Tensor:
        """Of the number of tokens missing in each slot: B × (T − 1) × (K + 1).

        trace: the same sentences with what was just deleted; None: nothing was.
        """
        raise NotImplementedError

    def token_logits(
        self, tokens: Tensor, memory: MemoryT, where: Tensor, trace: Trace | None = None
    ) -> Tensor:
        """Of the tokens at ``where`` (B × T, bool, P true), in row-major order: P × V."""
        raise NotImplementedError

    def with_features(self, tokens: Tensor, memory: MemoryT) -> MemoryT:
        """The memory with what deletion and placeholders read of B × T tokens, to save time."""
        return memory

    def max_positions(self) -> tuple[int, int] | None:
        """The longest source and target, in tokens, to which decoding keeps; None: any."""
        return None

    def eval(self) -> Self:
        """Sets it for decoding, as modules can be."""
        return self


AnyPolicy = EditPolicy[Any]


def is_edit_model(model: object) -> TypeGuard[AnyPolicy]:
    """Whether a model, or a class of models, edits by policies; others write from left to right."""
    return hasattr(model, "deletion_logits")  # also one that fairseq has wrapped, to train it


def read_by(policy: AnyPolicy, trace: Trace | None) -> list[Trace]:
    """The trace, as a last argument for those policies that read it."""
    return [] if trace is None or not policy.traces else [trace]


@dataclass(frozen=True)
class EnsembleMemory:
    """What the members' encoders left, one memory for each member."""

    members: tuple[Memory, ...]

    def select(self, rows: Tensor) -> "EnsembleMemory":
        """The memories of the sentences at ``rows``."""
        return EnsembleMemory(tuple(member.select(rows) for member in self.members))


class EnsemblePolicy(EditPolicy[EnsembleMemory]):
    """A policy whose probabilities are the mean of its members'; it returns their logarithms.

    The members share their dictionaries and may differ in all else; one that can insert fewer
    tokens at once gives more a probability of 0.
    """

    def __init__(self, policies: Sequence[AnyPolicy]) -> None:
        self.policies = tuple(policies)
        self.traces = any(policy.traces for policy in policies)

    def eval(self) -> Self:
        """Sets all members for decoding."""
        for policy in self.policies:
            policy.eval()
        return self

    def max_positions(self) -> tuple[int, int] | None:
        """The tightest limits of the members: source and target in tokens; None without any."""
        known = [one for policy in self.policies if (one := policy.max_positions()) is not None]
        return (min(one[0] for one in known), min(one[1] for one in known)) if known else None

    def encode(self, src_tokens: Tensor) -> EnsembleMemory:
        """B × S tokens → the memories of all members."""
        return EnsembleMemory(tuple(policy.encode(src_tokens) for policy in self.policies))

    def with_features(self, tokens: Tensor, memory: EnsembleMemory) -> EnsembleMemory:
        """The members' memories with what each has computed of B × T tokens."""
        pairs = zip(self.policies, memory.members)
        return EnsembleMemory(tuple(policy.with_features(tokens, own) for policy, own in pairs))

    def deletion_logits(self, tokens: Tensor, memory: EnsembleMemory) -> Tensor:
        """B × T × 2."""
        return self._mean(memory, lambda policy, own: policy.deletion_logits(tokens, own))

    def placeholder_logits(
        self, tokens: Tensor, memory: EnsembleMemory, trace: Trace | None = None
    ) -> Tensor:
        """B × (T − 1) × (K + 1), K the largest of the members'."""
        return self._mean(
            memory,
            lambda policy, own: policy.placeholder_logits(tokens, own, *read_by(policy, trace)),
        )

    def token_logits(
        self, tokens: Tensor, memory: EnsembleMemory, where: Tensor, trace: Trace | None = None
    ) -> Tensor:
        """P × V."""
        return self._mean(
            memory,
            lambda policy, own: policy.token_logits(tokens, own, where, *read_by(policy, trace)),
        )

    def _mean(self, memory: EnsembleMemory, ask: Callable[[AnyPolicy, Memory], Tensor]) -> Tensor:
        """Logarithm of the mean of the members' probabilities, over the last dimension."""
        pairs = zip(self.policies, memory.members)
        logs = [torch.log_softmax(ask(policy, own).float(), dim=-1) for policy, own in pairs]
        width = max(one.size(-1) for one in logs)
        wide = [F.pad(one, (0, width - one.size(-1)), value=-math.inf) for one in logs]
        return torch.logsumexp(torch.stack(wide), dim=0) - math.log(len(logs))
