"""Source, target and draft side by side."""

from collections.abc import Sequence
from typing import TypeAlias, TypedDict

import numpy as np
import torch
from fairseq.data import Dictionary, FairseqDataset, LanguagePairDataset, data_utils
from torch import Tensor

from .batch import Batch

# one side of the data: tokens of every sentence
Side: TypeAlias = FairseqDataset | Sequence[Tensor]
Sizes: TypeAlias = Sequence[int] | np.ndarray


class Example(TypedDict, total=False):
    """A sentence: fairseq's id, source and target, and the draft where there are drafts."""

    id: int
    source: Tensor
    target: Tensor | None
    draft: Tensor


class EditDataset(LanguagePairDataset):
    """fairseq's language pairs, with a draft y⁰ beside every source where there are drafts.

    Every side begins with <s> and ends with </s>. A batch is fairseq's, without
    ``prev_output_tokens``, and has ``draft`` (B × N, long, padded on the right) on top.

    Args:
        src, src_sizes, src_dict, tgt, tgt_sizes, tgt_dict: as in fairseq.
        draft: data set of drafts, or None.
        draft_sizes: their lengths in tokens.
        marks: bits of :mod:`.markup` for the drafts' tokens, or None. With them a batch has
            ``marks`` (B × N) too, and both as ``constraints`` (B × 2 × N), the one field besides
            the source that fairseq-interactive passes on to the task.
        **options: of :class:`~fairseq.data.LanguagePairDataset`.
    """

    def __init__(
        self,
        src: Side,
        src_sizes: Sizes,
        src_dict: Dictionary,
        tgt: Side | None = None,
        tgt_sizes: Sizes | None = None,
        tgt_dict: Dictionary | None = None,
        draft: Side | None = None,
        draft_sizes: Sizes | None = None,
        marks: Sequence[Tensor] | None = None,
        **options: object,
    ) -> None:
        options["input_feeding"] = False
        super().__init__(src, src_sizes, src_dict, tgt, tgt_sizes, tgt_dict, **options)
        self.draft = draft
        self.draft_sizes = None if draft_sizes is None else np.array(draft_sizes)
        self.marks = marks

    def __getitem__(self, index: int) -> Example:
        item: Example = super().__getitem__(index)
        if self.draft is not None:
            item["draft"] = self.draft[index]
        return item

    def collater(
        self, samples: list[Example], pad_to_length: dict[str, int] | None = None
    ) -> Batch:
        """A batch as the class describes it; fairseq sorts its sentences by source length."""
        batch: Batch = super().collater(samples, pad_to_length)
        if batch and self.draft is not None:
            order = batch["id"].tolist()
            drafts = {sample["id"]: sample["draft"] for sample in samples}
            batch["draft"] = self._collated([drafts[i] for i in order], self.src_dict.pad())
            if self.marks is not None:
                batch["marks"] = self._collated([self.marks[i] for i in order], 0)
                batch["constraints"] = torch.stack([batch["draft"], batch["marks"]], 1)
        return batch

    def _collated(self, rows: list[Tensor], fill: int) -> Tensor:
        return data_utils.collate_tokens(rows, fill, pad_to_multiple=self.pad_to_multiple)

    def num_tokens(self, index: int) -> int:
        """As :meth:`num_tokens_vec`, of one sentence."""
        return int(self.num_tokens_vec(np.array([index]))[0])

    def num_tokens_vec(self, indices: np.ndarray) -> np.ndarray:
        """The longest of source, target and draft: what ``--max-tokens`` counts."""
        sizes = super().num_tokens_vec(indices)
        if self.draft_sizes is not None:
            sizes = np.maximum(sizes, self.draft_sizes[indices])
        return sizes

    def size(self, index: int) -> tuple[int, ...]:
        """Lengths of source, target and draft in tokens."""
        draft = () if self.draft_sizes is None else (self.draft_sizes[index],)
        return tuple(super().size(index)) + draft

    def filter_indices_by_size(
        self, indices: np.ndarray, max_sizes: None | int | Sequence[int]
    ) -> tuple[np.ndarray, list[int]]:
        """Drafts are held to the target's limit."""
        kept, ignored = super().filter_indices_by_size(indices, max_sizes)
        if self.draft_sizes is None or max_sizes is None:
            return kept, ignored
        limit = max_sizes[-1] if isinstance(max_sizes, (tuple, list)) else max_sizes
        short = self.draft_sizes[kept] <= (limit or np.inf)
        return kept[short], list(ignored) + kept[~short].tolist()
