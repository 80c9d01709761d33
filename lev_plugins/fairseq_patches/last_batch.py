"""Faults: the last batch is thrown away when its size is no multiple of 8, whatever the task; a
sentence that is too long for a batch is not named.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from fairseq.data import FairseqDataset
from fairseq.tasks import FairseqTask

from lev_runtime.errors import UserError

from ..io.patching import Stock, patches
from ..io.program import running_command


@patches(FairseqTask, "dataset")
def dataset(stock: Stock, self: FairseqTask, split: str) -> Any:
    """fairseq's, which says from now on what it is called, for messages."""
    data = stock(self, split)
    data.split = split
    return data


def split_of(data: Any) -> str:
    """The beginning of a message about data; "" where nobody knows what they are called."""
    name = getattr(data, "split", None)
    return f"{name}: " if name else ""


@patches(FairseqDataset, "batch_by_size")
def batch_by_size(
    stock: Stock, self: FairseqDataset, indices: Sequence[int], *limits: Any, **options: Any
) -> list[Any]:
    """fairseq's batches, and one of the sentences that they leave out.

    Raises:
        UserError: a training has no sentence, of which fairseq never ends; or one has more tokens
            than a batch may.
    """
    if len(indices) > 0:
        try:
            batches = [batch for batch in stock(self, indices, *limits, **options) if len(batch)]
        except AssertionError as error:
            longest = max(indices, key=self.num_tokens)
            raise UserError(
                f"{split_of(self)}line {longest + 1} has {self.num_tokens(longest)} tokens: raise "
                f"--max-tokens, or --max-tokens-valid, or shorten it ({error})"
            ) from error
        batched = sum(map(len, batches))
        rest = np.asarray(indices, dtype=np.int64)[batched:]
        return [*batches, rest] if len(rest) else batches
    if running_command() in ("train", "hydra-train"):
        raise UserError(
            "a data set has no sentences, or none within --max-source-positions, "
            "--max-target-positions and --max-tokens"
        )
    return []
