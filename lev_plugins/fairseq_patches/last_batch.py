"""Fault: the last batch is thrown away when its size is no multiple of 8, whatever the task."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from fairseq.data import FairseqDataset

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command


@patches(FairseqDataset, "batch_by_size")
def batch_by_size(
    stock: Stock, self: FairseqDataset, indices: Sequence[int], *limits: Any, **options: Any
) -> list[Any]:
    """fairseq's batches, and one of the sentences that they leave out.

    Raises:
        UserError: a training has no sentence, of which fairseq never ends.
    """
    if len(indices) > 0:
        batches = [batch for batch in stock(self, indices, *limits, **options) if len(batch)]
        batched = sum(map(len, batches))
        rest = np.asarray(indices, dtype=np.int64)[batched:]
        return [*batches, rest] if len(rest) else batches
    if running_command() in ("train", "hydra-train"):
        raise UserError(
            "a data set has no sentences, or none within --max-source-positions, "
            "--max-target-positions and --max-tokens"
        )
    return []
