"""Several models as one: their policies' probabilities are averaged.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, V symbols, K the most
tokens that can be missing in one slot, P tokens to be written.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ....errors import UserError
from .policy import AnyPolicy, Memory, evaluate, limits_of, with_changes, with_features


@dataclass(frozen=True)
class EnsembleMemory:
    """What the members' encoders left, one memory for each member."""

    members: tuple[Memory, ...]

    def select(self, rows: Tensor) -> "EnsembleMemory":
        """The memories of the sentences at ``rows`` (long indices)."""
        return EnsembleMemory(tuple(member.select(rows) for member in self.members))

    def with_changes(self, rows: Tensor) -> "EnsembleMemory":
        """The memories, told which sentences have lost tokens."""
        return EnsembleMemory(tuple(with_changes(member, rows) for member in self.members))


class EnsemblePolicy:
    """An :class:`~.policy.EditPolicy` whose probabilities are the mean of its members'.

    What it returns are the logarithms of these means. The members share their dictionaries and
    may differ in all else; one that can insert fewer tokens at once gives more a probability
    of 0. A single member answers as if it were alone.

    Args:
        policies: the members.

    Raises:
        UserError: there is none.
    """

    def __init__(self, policies: Sequence[AnyPolicy]) -> None:
        if not policies:
            raise UserError("no model was given; an ensemble needs at least one checkpoint")
        self.policies = tuple(policies)

    @property
    def training(self) -> bool:
        """Whether a member is in training mode."""
        return any(getattr(policy, "training", False) for policy in self.policies)

    def eval(self) -> "EnsemblePolicy":
        """Puts the members that are modules into evaluation mode."""
        for policy in self.policies:
            evaluate(policy)
        return self

    def max_positions(self) -> tuple[int, int] | None:
        """The tightest limits of the members: source and target in tokens; None without any."""
        known = [limit for limit in map(limits_of, self.policies) if limit is not None]
        if not known:
            return None
        return min(limit[0] for limit in known), min(limit[1] for limit in known)

    def encode(self, src_tokens: Tensor) -> EnsembleMemory:
        """B × S tokens → the memories of all members."""
        return EnsembleMemory(tuple(policy.encode(src_tokens) for policy in self.policies))

    def with_features(self, tokens: Tensor, memory: EnsembleMemory) -> EnsembleMemory:
        """The members' memories with what each has computed of B × T tokens."""
        pairs = zip(self.policies, memory.members)
        return EnsembleMemory(tuple(with_features(policy, tokens, own) for policy, own in pairs))

    def deletion_logits(self, tokens: Tensor, memory: EnsembleMemory) -> Tensor:
        """Of keeping (0) and deleting (1) each of B × T tokens: B × T × 2."""
        return self._mean(memory, lambda policy, own: policy.deletion_logits(tokens, own))

    def placeholder_logits(self, tokens: Tensor, memory: EnsembleMemory) -> Tensor:
        """Of the number of missing tokens: B × (T − 1) × (K + 1), K the largest of the members'."""
        return self._mean(memory, lambda policy, own: policy.placeholder_logits(tokens, own), True)

    def token_logits(self, tokens: Tensor, memory: EnsembleMemory, where: Tensor) -> Tensor:
        """Of the tokens at ``where`` (B × T, bool, P true): P × V.

        Raises:
            UserError: the members' vocabularies are of different sizes.
        """
        return self._mean(memory, lambda policy, own: policy.token_logits(tokens, own, where))

    def _mean(
        self,
        memory: EnsembleMemory,
        ask: Callable[[AnyPolicy, Memory], Tensor],
        widen: bool = False,
    ) -> Tensor:
        """Logarithm of the mean of the members' probabilities, over the last dimension.

        ``widen``: members with fewer classes give the others a probability of 0.
        """
        outputs = [ask(policy, own) for policy, own in zip(self.policies, memory.members)]
        if len(outputs) == 1:
            return outputs[0]
        sizes = [answer.size(-1) for answer in outputs]
        if not widen and len(set(sizes)) > 1:
            raise UserError(
                f"the checkpoints of the ensemble have vocabularies of {', '.join(map(str, sizes))}"
                " symbols; give checkpoints that were trained with the same dictionary"
            )
        width = max(sizes)
        logs = [
            torch.nn.functional.pad(
                torch.log_softmax(answer.float(), dim=-1), (0, width - size), value=-math.inf
            )
            for answer, size in zip(outputs, sizes)
        ]
        return torch.logsumexp(torch.stack(logs), dim=0) - math.log(len(logs))
