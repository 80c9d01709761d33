"""Edit policies over tensors (:mod:`lev_runtime.policy`), and several models as one.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, P tokens to be written.
Sequences begin with <s>, end with </s> and are padded on the right.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_runtime import policy as runtime
from lev_runtime.errors import UserError
from lev_runtime.policy import UNKNOWN as UNKNOWN
from lev_runtime.policy import Facts as Facts

from ....nn.arrays import TORCH
from ..trace import Trace

if TYPE_CHECKING:
    from ..operations.base import EditOperation


class EditPolicy(runtime.EditPolicy):
    """A policy over tensors."""

    arrays, trace_of = TORCH, Trace
    operations: "Sequence[EditOperation]" = ()


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
        trace: Trace | None = None,
        facts: Facts = UNKNOWN,
    ) -> Tensor:
        """Logarithm of the mean of the members' probabilities, over the last dimension."""
        logs = []
        for policy, own in zip(self.policies, memory, strict=True):
            logits = policy.logits(operation, tokens, own, where, trace, facts)
            logs.append(torch.log_softmax(logits.float(), dim=-1))
        width = max(log.size(-1) for log in logs)  # the largest K: others never insert as many
        wide = [F.pad(log, (0, width - log.size(-1)), value=-math.inf) for log in logs]
        total = torch.logsumexp(torch.stack(wide), dim=0)
        return total - math.log(len(logs))
