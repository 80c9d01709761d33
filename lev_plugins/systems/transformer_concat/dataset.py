"""Source and draft as one sequence, ``source </s> draft </s>``, for encoders that read both.

Shapes: B sentences, S tokens of the source, N of the draft, T of the two joined. A sequence
consists of parts; each ends with its </s>, so the tokens themselves tell the parts apart.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ...data.batch import Batch
from ...data.edit_dataset import EditDataset, Example
from ...ops.edits import compact


def join_draft(source: Tensor, draft: Tensor, pad: int, bos: int, multiple: int = 1) -> Tensor:
    """Joins every source with its draft: ``source </s> draft </s>``.

    Args:
        source: B × S, every row ending with </s>; a <s> at its beginning is dropped, padding
            may stand on either side.
        draft: B × N, likewise; an empty draft is </s> alone.
        pad, bos: indices of the padding and of <s>.
        multiple: T is padded to a multiple of this.

    Returns:
        B × T, padded on the right; T is at most S + N where ``multiple`` is 1.
    """
    both = torch.cat([source, draft], dim=1)
    joined = compact(both, both.ne(pad) & both.ne(bos), pad)
    return F.pad(joined, (0, -joined.size(1) % multiple), value=pad)


def parts_and_positions(tokens: Tensor, pad: int, eos: int) -> tuple[Tensor, Tensor]:
    """In which part every token stands, and where in it.

    Args:
        tokens: B × T, padded on either side.
        pad, eos: indices of the padding and of </s>.

    Returns:
        parts: B × T, how many </s> come before the token. positions: B × T, numbers as fairseq
        counts them, ``pad + 1`` for the first token of every part, ``pad`` for padding.
    """
    real, end = tokens.ne(pad), tokens.eq(eos)
    count = real.cumsum(1)
    parts = end.cumsum(1) - end.long()
    done = F.pad((count * end).cummax(1).values[:, :-1], (1, 0))  # tokens in the parts before
    return parts, (count - done) * real + pad


class ConcatEditDataset(EditDataset):
    """Triples for models that write from left to right and read source and draft as one.

    As :class:`EditDataset`, but a batch has ``prev_output_tokens``, no side begins with <s>, every
    source has a draft, if only </s>, and ``src_tokens`` (B × T) are the two joined.

    Args:
        *sides, **options: of :class:`EditDataset`, with ``draft`` and ``draft_sizes``.
    """

    def __init__(self, *sides: Any, **options: Any) -> None:
        super().__init__(*sides, **options)
        self.input_feeding = True
        self.draft_lengths = np.asarray(self.draft_sizes)

    def collater(
        self, samples: list[Example], pad_to_length: dict[str, int] | None = None
    ) -> Batch:
        """A batch as the class describes it."""
        batch = super().collater(samples, pad_to_length)
        if batch:
            pad, bos = self.src_dict.pad(), self.src_dict.bos()
            sides = batch["net_input"]["src_tokens"], batch.pop("draft")
            tokens = join_draft(*sides, pad, bos, self.pad_to_multiple)
            net_input = batch["net_input"]
            net_input["src_tokens"], net_input["src_lengths"] = tokens, tokens.ne(pad).sum(1)
        return batch

    def ordered_indices(self) -> np.ndarray:
        """Sorted by what the encoder reads, and otherwise as fairseq has it."""
        indices = super().ordered_indices()
        return indices[np.argsort(self._read(indices), kind="mergesort")]

    def _read(self, indices: np.ndarray) -> np.ndarray:
        return self.src_sizes[indices] + self.draft_lengths[indices]

    def num_tokens_vec(self, indices: np.ndarray) -> np.ndarray:
        """The longer of target and of source and draft together: what ``--max-tokens`` counts."""
        sizes = self._read(indices)
        return sizes if self.tgt_sizes is None else np.maximum(sizes, self.tgt_sizes[indices])

    def filter_indices_by_size(
        self, indices: np.ndarray, max_sizes: None | int | Sequence[int]
    ) -> tuple[np.ndarray, list[int]]:
        """Source and draft are held to the source's limit, each by itself."""
        kept, ignored = super(EditDataset, self).filter_indices_by_size(indices, max_sizes)
        limit = max_sizes[0] if isinstance(max_sizes, (tuple, list)) else max_sizes
        short = self.draft_lengths[kept] <= (limit or np.inf)
        return kept[short], list(ignored) + kept[~short].tolist()
