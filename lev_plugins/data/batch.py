"""The dictionaries that fairseq hands from data to task, criterion and decoding, and back.

Shapes: B sentences, S source tokens, M target tokens, N draft tokens.
"""

from typing import Any, TypedDict

import torch
from torch import Tensor

from lev_runtime.text.codec import TextEncoder as TextEncoder

# what a criterion logs of a batch; fairseq sums it over processes
LogOutput = dict[str, int | float | Tensor]


class Batch(TypedDict, total=False):
    """A batch: fairseq's own keys, and those of an edit model's data.

    id: B, where the sentences stand in the data. net_input: src_tokens, B × S, long, and
    src_lengths, B, None where nothing asks for them. target: B × M. draft: B × N. marks: B × N,
    bits of the marks on the drafts. constraints: B × 2 × N, draft and marks. draft_kept
    (B × N), target_kept (B × M): bool, what the expert keeps of both.
    """

    id: Tensor
    nsentences: int
    ntokens: int
    net_input: dict[str, Any]
    target: Tensor
    draft: Tensor
    marks: Tensor
    constraints: Tensor
    draft_kept: Tensor
    target_kept: Tensor


class Hypothesis(TypedDict):
    """A generated hypothesis: T tokens and the log-probability of each, in nats."""

    tokens: Tensor
    positional_scores: Tensor
    score: float


def truncate(tokens: Tensor, longest: int) -> Tensor:
    """Cuts a sentence to ``longest`` tokens at most, its </s> kept."""
    if len(tokens) <= longest:
        return tokens
    return torch.cat([tokens[: longest - 1], tokens[-1:]])
