"""Decoding with an oracle that knows the target (paper, §4.2 "Collaborate with Oracle", Fig. 5).

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, M target tokens, V
symbols, K the most tokens that are missing in one slot, P tokens to be written.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lev_plugins.ops.alignment import lcs_masks
from lev_plugins.ops.edits import compact
from lev_plugins.systems.levenshtein.decoding.policy import EditPolicy

ORACLES = ("none", "deletion", "deletion+placeholder")
# Logit of what is certain; all else has its negative. No penalty is as large, and in single
# precision the probabilities are 1 and 0.
CERTAIN = 1e4
PAD = 1  # in every dictionary of fairseq


@dataclass(frozen=True)
class OracleMemory:
    """What the policy's encoder left (``inner``), and the targets (B × M) row for row with it."""

    inner: Any
    target: Tensor

    def select(self, rows: Tensor) -> "OracleMemory":
        """The memory and the targets of the sentences at ``rows`` (long indices)."""
        return OracleMemory(self.inner.select(rows), self.target.index_select(0, rows))


class OraclePolicy(EditPolicy):
    """A policy that deletes, and may insert, as the expert does (Eq. 8).

    Deletion is optimal: what a longest common subsequence with the target keeps, stays. With
    ``insertions`` the number of placeholders in every slot is the expert's too. Tokens always
    come from the policy. The expert's actions are certain: no empty penalty, and no deletion
    threshold below 1, overturns them.

    Args:
        policy: what is asked for all that the oracle does not tell.
        target: y*, B × M, with <s> and </s>, padded on the right; row for row with the sources.
        insertions: whether the oracle tells the number of placeholders.
        pad: the padding index.
    """

    def __init__(
        self, policy: EditPolicy, target: Tensor, insertions: bool, pad: int = PAD
    ) -> None:
        self.policy, self.target = policy, target
        self.insertions, self.pad = insertions, pad

    def eval(self) -> "OraclePolicy":
        """Sets the policy for decoding."""
        self.policy.eval()
        return self

    def max_positions(self) -> tuple[int, int] | None:
        """Those of the policy."""
        return self.policy.max_positions()

    def encode(self, src_tokens: Tensor) -> OracleMemory:
        """B × S tokens → the policy's memory with the targets beside it.

        Raises:
            ValueError: there are not as many sources as targets.
        """
        if src_tokens.size(0) != self.target.size(0):
            raise ValueError(f"{src_tokens.size(0)} sources but {self.target.size(0)} targets")
        return OracleMemory(self.policy.encode(src_tokens), self.target.to(src_tokens.device))

    def deletion_logits(self, tokens: Tensor, memory: OracleMemory) -> Tensor:
        """The expert's d*, as logits of keeping (0) and deleting (1): B × T × 2."""
        keep, _ = lcs_masks(tokens, memory.target, self.pad)
        return certain((~keep).long(), 2)

    def placeholder_logits(
        self, tokens: Tensor, memory: OracleMemory, trace: object = None
    ) -> Tensor:
        """The expert's p*, or the policy's logits: B × (T − 1) × (K + 1)."""
        if not self.insertions:
            return self.policy.placeholder_logits(tokens, memory.inner)
        counts = missing_tokens(tokens, memory.target, self.pad)
        return certain(counts, int(counts.max()) + 1 if counts.numel() else 1)

    def token_logits(
        self, tokens: Tensor, memory: OracleMemory, where: Tensor, trace: object = None
    ) -> Tensor:
        """The policy's: P × V."""
        return self.policy.token_logits(tokens, memory.inner, where)


def certain(choices: Tensor, classes: int) -> Tensor:
    """Logits that leave no doubt: choices (long, any shape, in [0, classes)) → … × classes."""
    logits = torch.full((*choices.shape, classes), -CERTAIN, device=choices.device)
    return logits.scatter_(-1, choices.unsqueeze(-1), CERTAIN)


def missing_tokens(tokens: Tensor, target: Tensor, pad: int) -> Tensor:
    """How many tokens of the target are missing in every slot (the expert's p*, Eq. 8).

    Args:
        tokens: B × T, <s> … </s>.
        target: B × M, <s> … </s>.
        pad: the padding index.

    Returns:
        B × (T − 1), long. Where all tokens belong to the target they are exact: filled with the
        right tokens, the result is the target. A token that does not belong there splits a gap;
        what is missing is then counted in the gap's first slot.
    """
    keep, kept_target = lcs_masks(tokens, target, pad)
    position = torch.arange(target.size(1), device=target.device).expand_as(target)
    place = Compaction(kept_target)(position, -1)  # of each kept token, in the target
    gaps = (place[:, 1:] - place[:, :-1] - 1).clamp(min=0)
    gaps = torch.nn.functional.pad(gaps, (0, 1))  # nothing is missing behind </s>
    rank = (keep.cumsum(1) - 1).clamp(min=0)
    return (gaps.gather(1, rank) * keep)[:, :-1]


def with_oracle(policy: EditPolicy, mode: str, target: Tensor, pad: int = PAD) -> EditPolicy:
    """The policy, or an :class:`OraclePolicy` around it.

    Args:
        policy: a model, or a policy around models.
        mode: one of :data:`ORACLES`.
        target: the batch's y* (B × M, with <s> and </s>).
        pad: the padding index.
    """
    return policy if mode == "none" else OraclePolicy(policy, target, mode == ORACLES[2], pad)
