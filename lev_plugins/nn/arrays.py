"""torch's side of the decoding loop (:mod:`lev_runtime.refine.arrays`)."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_runtime.refine.arrays import NOISE_STREAM, Arrays

from ..ops.edits import Compaction, Opening, true_places
from ..ops.randomness import uniform
from ..ops.transfer import to_host
from .backends import chunk_rows


class TorchArrays(Arrays):
    """Tensors; a GPU is waited for only where numbers come to the host."""

    xp = torch
    waits = True

    def as_tensor(self, numbers: Any, like: Tensor) -> Tensor:
        return torch.as_tensor(numbers).to(like.device, non_blocking=True)

    def arange(self, count: int, like: Tensor) -> Tensor:
        return torch.arange(count, device=like.device)

    def copy(self, values: Tensor) -> Tensor:
        return values.clone()

    def float32(self, values: Tensor) -> Tensor:
        return values.float()

    def int64(self, values: Tensor) -> Tensor:
        return values.long()

    def masked_fill(self, values: Tensor, mask: Tensor, value: float) -> Tensor:
        return values.masked_fill(mask, value)

    def gather(self, values: Tensor, columns: Tensor) -> Tensor:
        return values.gather(1, columns)

    def pad(self, values: Tensor, before: int, after: int, fill: float) -> Tensor:
        return F.pad(values, (before, after), value=fill)

    def resize(self, values: Tensor, width: int) -> Tensor:
        more = width - values.size(1)
        return F.pad(values, (*[0, 0] * (values.dim() - 2), 0, more))

    def flatnonzero(self, mask: Tensor, count: int | None) -> Tensor:
        return true_places(mask, count)

    def put(self, values: Tensor, places: Tensor, new: Tensor) -> Tensor:
        return values.flatten().index_copy(0, places, new.to(values.dtype)).view_as(values)

    def compaction(self, keep: Tensor, width: int | None = None) -> Compaction:
        return Compaction(keep, width)

    def opening(self, lengths: Tensor, counts: Tensor, width: int | None = None) -> Opening:
        return Opening(lengths, counts, width)

    def log_softmax(self, logits: Tensor) -> Tensor:
        return torch.log_softmax(logits.float(), dim=-1)

    def logsumexp(self, logits: Tensor) -> Tensor:
        return logits.logsumexp(-1)

    def argmax(self, logits: Tensor) -> Tensor:
        return logits.max(1).indices  # faster than argmax

    def rows_at_once(self, logits: Tensor) -> int:
        return chunk_rows(logits)

    def uniform(self, seed: int, stream: int, lines: Tensor, classes: int) -> Tensor:
        return uniform(seed, stream, lines, classes, NOISE_STREAM)

    def tolist(self, values: Sequence[Tensor]) -> list[Any]:
        numbers: list[Any] = torch.stack(list(values)).tolist() if values else []
        return numbers

    def to_host(self, arrays: Iterable[Tensor]) -> list[Tensor]:
        return to_host(arrays)


TORCH = TorchArrays()
