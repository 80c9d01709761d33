"""What decoding asks of a model: three edit policies that read one source.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, V symbols, K the most
tokens that can be missing in one slot. Slot k lies between tokens k and k + 1. Sequences begin
with <s>, end with </s> and are padded on the right.
"""

from typing import Any, Protocol, Self, TypeGuard, TypeVar, cast

from torch import Tensor, nn


class Memory(Protocol):
    """What an encoder leaves for the policies; one row for each of B sentences."""

    def select(self, rows: Tensor) -> Self:
        """The memory of the sentences at ``rows`` (long indices), in that order."""


MemoryT = TypeVar("MemoryT", bound=Memory)


class EditPolicy(Protocol[MemoryT]):
    """A model that can be decoded with: deletion, placeholder and token policies.

    Logits are of any floating type and may be in any range; those at padding are ignored. A
    policy reads no memory but its own. It may also have ``max_positions()``, the longest source
    and target in tokens, which decoding then keeps to, and ``with_features``, see
    :func:`with_features`.
    """

    def encode(self, src_tokens: Tensor) -> MemoryT:
        """B × S tokens → what the three policies read."""

    def deletion_logits(self, tokens: Tensor, memory: MemoryT) -> Tensor:
        """Of keeping (0) and deleting (1) each of B × T tokens: B × T × 2."""

    def placeholder_logits(self, tokens: Tensor, memory: MemoryT) -> Tensor:
        """Of the number of tokens missing in each slot: B × (T − 1) × (K + 1)."""

    def token_logits(self, tokens: Tensor, memory: MemoryT, where: Tensor) -> Tensor:
        """Of the tokens at ``where`` (B × T, bool, P true), in row-major order: P × V."""


AnyPolicy = EditPolicy[Any]


def is_edit_model(model: object) -> TypeGuard[AnyPolicy]:
    """Whether a model, or a class of models, edits by policies; others write from left to right."""
    return hasattr(model, "deletion_logits")


def limits_of(policy: object) -> tuple[int, int] | None:
    """The longest source and target of a policy, in tokens; None where it has no limits."""
    return getattr(policy, "max_positions", lambda: None)()


def evaluate(policy: object) -> None:
    """Puts a policy that is in training mode, as modules can be, into evaluation mode."""
    if getattr(policy, "training", False):
        cast(nn.Module, policy).eval()


def with_features(policy: EditPolicy[MemoryT], tokens: Tensor, memory: MemoryT) -> MemoryT:
    """The memory with what the policy has to compute of B × T tokens for deletion and placeholders.

    A policy whose two heads read the same features can then compute them once. Nothing but the time
    that it takes depends on it; policies without a method of this name get their memory back.
    """
    compute = getattr(policy, "with_features", None)
    return memory if compute is None else compute(tokens, memory)


def with_changes(memory: MemoryT, rows: Tensor) -> MemoryT:
    """The memory, told which sentences (``rows``, long) are no longer as :func:`with_features` read
    them: tokens of theirs were deleted.

    A memory without a method of this name finds out by itself, for which the host waits.
    """
    tell = getattr(memory, "with_changes", None)
    return memory if tell is None else tell(rows)
