"""The dictionaries that fairseq hands from data to task, criterion and decoding, and back.

Shapes: B sentences, S source tokens, M target tokens, N draft tokens.
"""

from dataclasses import dataclass
from typing import Protocol, TypedDict

import torch
from torch import Tensor

# what a criterion logs of a batch; fairseq sums it over processes
LogOutput = dict[str, int | float | Tensor]


class TextEncoder(Protocol):
    """One of fairseq's tokenizers or kinds of subwords (``--tokenizer``, ``--bpe``)."""

    def encode(self, x: str) -> str:
        """Text → tokens with spaces between them."""

    def decode(self, x: str) -> str:
        """Tokens with spaces between them → text."""


class NetInput(TypedDict):
    """src_tokens: B × S, long. src_lengths: B, None where nothing asks for them."""

    src_tokens: Tensor
    src_lengths: Tensor | None


class Batch(TypedDict, total=False):
    """A batch: fairseq's own keys, and those of an edit model's data.

    id: B, where the sentences stand in the data. target: B × M. draft: B × N. marks: B × N, bits
    of the marks on the drafts. constraints: B × 2 × N, draft and marks. on_host: what stays there.
    """

    id: Tensor
    nsentences: int
    ntokens: int
    net_input: NetInput
    target: Tensor
    draft: Tensor
    marks: Tensor
    constraints: Tensor
    on_host: "OnHost"


class Hypothesis(TypedDict):
    """What a generator writes: T tokens and the log-probability of each, in nats."""

    tokens: Tensor
    positional_scores: Tensor
    score: float


def shortened(tokens: Tensor, longest: int) -> Tensor:
    """A sentence of ``longest`` tokens at most, its </s> kept."""
    if len(tokens) <= longest:
        return tokens
    return torch.cat([tokens[: longest - 1], tokens[-1:]])


@dataclass
class OnHost:
    """What fairseq leaves on the host when it moves a batch to a device.

    ids: B. source: B × S. target: B × M. draft: B × N, or None. alignment: what
    :func:`~lev_plugins.ops.alignment.lcs_masks` gives for draft and target; None where nothing
    has been aligned.
    """

    ids: Tensor
    source: Tensor
    target: Tensor
    draft: Tensor | None
    alignment: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, batch: Batch) -> "OnHost":
        """The batch's own tensors, wherever they are."""
        tokens = batch["net_input"]["src_tokens"]
        return cls(batch["id"], tokens, batch["target"], batch.get("draft"))
