"""What decoding asks of a model: edit policies that read one source; several models as one.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, P tokens to be written.
Sequences begin with <s>, end with </s> and are padded on the right.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeGuard

import torch
import torch.nn.functional as F
from torch import Tensor

from ....errors import UserError

if TYPE_CHECKING:
    from ..operations.base import EditOperation
    from ..trace import Trace


@dataclass(frozen=True)
class Facts:
    """What the host knows of sequences, so that no device is waited for to find it out.

    changed: by the name of an operation that has read the sentences, the rows that have changed
    since; None: unknown. slots: how many there are in all. deleted: tokens in the trace, in all.
    places: P, long, of the tokens to be written, in the batch laid flat. writing: the rows that
    have any; None: unknown.
    """

    changed: Mapping[str, tuple[int, ...]] | None = None
    slots: int | None = None
    deleted: int | None = None
    places: Tensor | None = None
    writing: tuple[int, ...] | None = None


UNKNOWN = Facts()


class EditPolicy:
    """A model that can be decoded with: a policy for each of its edit operations."""

    traces = False  #: whether it reads traces; else none are made
    #: what an iteration does, in order; also a class of models that edits has the attribute
    operations: "Sequence[EditOperation]" = ()
    #: B × S source tokens → a memory for all; ``memory.select(rows)`` is that of some of B
    encode: Callable[..., Any]

    def logits(
        self,
        operation: "EditOperation",
        tokens: Tensor,
        memory: Any,
        where: Tensor | None = None,
        trace: "Trace | None" = None,
        facts: Facts = UNKNOWN,
    ) -> Tensor:
        """What an operation's head says of B × T tokens.

        Logits are of any floating type and in any range; those at padding are ignored. For
        LevT's own they are of keeping (0) and deleting (1) each token, B × T × 2; of the number
        missing in each slot k between tokens k and k + 1, B × (T − 1) × (K + 1); of the symbols at
        ``where``, P × V.

        Args:
            memory: of :meth:`encode`, row for row. It belongs to one decoding: what an operation
                has read of sentences may stay in it.
            where: B × T, bool, P true: where tokens are to be written.
            trace: what was just deleted from the tokens; None where nothing was.
            facts: of the tokens.
        """
        raise NotImplementedError

    def max_positions(self) -> tuple[int, int] | None:
        """The longest source and target, in tokens, to which decoding keeps; None: any."""
        return None

    def eval(self) -> Self:
        """Sets it for decoding, as modules can be."""
        return self


def is_edit_model(model: object) -> TypeGuard[EditPolicy]:
    """Whether a model, or a class of models, edits by policies; others write from left to right."""
    return hasattr(model, "operations")  # also one that fairseq has wrapped, to train it


class EnsembleMemory(list[Any]):
    """The memories of the members."""

    def select(self, rows: Tensor) -> "EnsembleMemory":
        return EnsembleMemory(member.select(rows) for member in self)


class EnsemblePolicy(EditPolicy):
    """A policy whose probabilities are the mean of its members', which share their dictionaries.

    Raises:
        UserError: the members' iterations differ.
    """

    def __init__(self, policies: Sequence[EditPolicy]) -> None:
        self.policies = list(policies)
        self.traces = any(policy.traces for policy in policies)
        self.operations = self.policies[0].operations
        names = [[operation.name for operation in policy.operations] for policy in policies]
        for others in names[1:]:
            if others != names[0]:
                raise UserError(
                    "models with different --edit-operations cannot form an ensemble: one "
                    f"has {','.join(names[0])}, another {','.join(others)}"
                )

    def max_positions(self) -> tuple[int, int] | None:
        """The tightest limits of the members."""
        limits = [policy.max_positions() for policy in self.policies]
        known = [limit for limit in limits if limit]
        if not known:
            return None
        return min(source for source, _ in known), min(target for _, target in known)

    def encode(self, src_tokens: Tensor) -> EnsembleMemory:
        return EnsembleMemory(policy.encode(src_tokens) for policy in self.policies)

    def logits(
        self,
        operation: "EditOperation",
        tokens: Tensor,
        memory: EnsembleMemory,
        where: Tensor | None = None,
        trace: "Trace | None" = None,
        facts: Facts = UNKNOWN,
    ) -> Tensor:
        """Logarithm of the mean of the members' probabilities, over the last dimension."""
        logs = []
        for policy, own in zip(self.policies, memory, strict=True):
            logits = policy.logits(operation, tokens, own, where, trace, facts)
            logs.append(torch.log_softmax(logits.float(), dim=-1))
        width = max(log.size(-1) for log in logs)  # the largest K: others never insert as many
        wide = [F.pad(log, (0, width - log.size(-1)), value=-math.inf) for log in logs]
        return torch.logsumexp(torch.stack(wide), dim=0) - math.log(len(logs))
