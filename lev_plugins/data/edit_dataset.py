"""Source, target and draft side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary, FairseqDataset, LanguagePairDataset, data_utils
from torch import Tensor

from ..ops.alignment import lcs_masks
from .batch import Batch


class EditDataset(LanguagePairDataset):
    """fairseq's language pairs, with a draft y⁰ next to every source where there are drafts.

    Every side begins with <s> and ends with </s>. A batch is fairseq's, without
    ``prev_output_tokens``, and has ``draft`` (B × N, long, padded on the right) on top.

    Args:
        source, target, draft: sides with their lengths (``sizes``), or None.
        src_dict, tgt_dict: number their tokens.
        marks: bits of :mod:`.markup` for the drafts' tokens, or None. With them a batch has
            ``marks`` (B × N) too, and both as ``constraints`` (B × 2 × N), the one field besides
            the source that fairseq-interactive passes on to the task.
        aligned: batches have the expert's alignment of their drafts and targets on top:
            ``draft_kept`` (B × N) and ``target_kept`` (B × M), bool, what both have in common.
        **options: of fairseq's class.
    """

    def __init__(
        self,
        source: FairseqDataset,
        target: FairseqDataset | None,
        draft: FairseqDataset | None,
        src_dict: Dictionary,
        tgt_dict: Dictionary,
        marks: Sequence[Tensor] | None = None,
        aligned: bool = False,
        **options: object,
    ) -> None:
        target_sizes = None if target is None else target.sizes
        pair = source, source.sizes, src_dict, target, target_sizes, tgt_dict
        super().__init__(*pair, input_feeding=False, **options)
        self.draft = draft
        self.draft_sizes = None if draft is None else np.array(draft.sizes)
        self.marks = marks
        self.aligned = aligned

    def collater(
        self, samples: list[dict[str, Any]], pad_to_length: dict[str, int] | None = None
    ) -> Batch:
        """Makes a batch as the class describes it; fairseq sorts its sentences by source length."""
        batch: Batch = super().collater(samples, pad_to_length)
        if not batch or self.draft is None:
            return batch
        order = batch["id"].tolist()
        draft = self._collated([self.draft[i] for i in order], self.src_dict.pad())
        batch["draft"] = draft
        if self.marks is not None:
            marks = self._collated([self.marks[i] for i in order], 0)
            batch["marks"] = marks
            batch["constraints"] = torch.stack([draft, marks], 1)
        if self.aligned:  # here, in data-loader workers, and not while the model learns
            masks = lcs_masks(draft, batch["target"], self.tgt_dict.pad())
            batch["draft_kept"], batch["target_kept"] = masks
        return batch

    def _collated(self, rows: list[Tensor], fill: int) -> Tensor:
        return data_utils.collate_tokens(rows, fill, pad_to_multiple=self.pad_to_multiple)

    def num_tokens_vec(self, indices: np.ndarray) -> np.ndarray:
        """Returns the longest of source, target and draft, which ``--max-tokens`` counts."""
        sizes = super().num_tokens_vec(indices)
        if self.draft_sizes is not None:
            sizes = np.maximum(sizes, self.draft_sizes[indices])
        return sizes

    def size(self, index: int) -> tuple[int, ...]:
        """Returns the lengths of source, target and draft in tokens."""
        draft = () if self.draft_sizes is None else (self.draft_sizes[index],)
        return tuple(super().size(index)) + draft

    def filter_indices_by_size(
        self, indices: np.ndarray, max_sizes: None | int | Sequence[int]
    ) -> tuple[np.ndarray, list[int]]:
        """Holds drafts to the target's limit."""
        kept, ignored = super().filter_indices_by_size(indices, max_sizes)
        if self.draft_sizes is None or max_sizes is None:
            return kept, ignored
        limit = max_sizes[-1] if isinstance(max_sizes, (tuple, list)) else max_sizes
        short = self.draft_sizes[kept] <= (limit or np.inf)
        too_long = kept[~short].tolist()
        return kept[short], [*ignored, *too_long]
