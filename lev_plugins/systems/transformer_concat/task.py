"""Task ``translation_concat``: turns source and draft, read as one sequence, into a target.

It is the task of autoregressive models that post-edit (paper, §C.2), with fairseq's criterions, its
beam search and its options of both.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import (
    ConcatSentencesDataset,
    Dictionary,
    FairseqDataset,
    LanguagePairDataset,
)
from fairseq.data.iterators import EpochBatchIterator
from fairseq.tasks import register_task
from torch import Tensor

from lev_runtime.errors import UserError

from ...tasks.post_editing import PostEditingConfig, PostEditingTask, as_pair, listed


class JoinedDataset(LanguagePairDataset):
    """fairseq's language pairs, whose sources are ``source </s> draft </s>``.

    All sides are without <s>; an empty draft is </s> alone.
    """

    def __init__(
        self,
        source: FairseqDataset,
        draft: FairseqDataset,
        dictionary: Dictionary,
        target: FairseqDataset | None = None,
        **options: object,
    ) -> None:
        joined = ConcatSentencesDataset(source, draft)
        sides = joined, joined.sizes, dictionary, target, target and target.sizes, dictionary
        super().__init__(*sides, left_pad_source=False, **options)
        self.parts = np.stack([source.sizes, draft.sizes], 1)
        self.max_batch_tokens: float = np.inf

    def size(self, index: int) -> tuple[int, ...]:
        """Returns the lengths of source, target and draft in tokens."""
        source, draft = self.parts[index].tolist()
        return source, 0 if self.tgt_sizes is None else int(self.tgt_sizes[index]), draft

    def filter_indices_by_size(
        self, indices: np.ndarray, max_sizes: None | int | Sequence[int]
    ) -> tuple[np.ndarray, list[int]]:
        """Returns the rows that fit, and the others.

        Source and draft have the source's limit, each by itself. Together they have a batch's.
        """
        limits = max_sizes if isinstance(max_sizes, (tuple, list)) else (max_sizes, max_sizes)
        source_limit, target_limit = (np.inf if limit is None else limit for limit in limits)
        fits = self.parts[indices].max(1) <= source_limit
        fits &= self.num_tokens_vec(indices) <= self.max_batch_tokens
        if self.tgt_sizes is not None:
            fits &= self.tgt_sizes[indices] <= target_limit
        return indices[fits], indices[~fits].tolist()


@register_task("translation_concat", dataclass=PostEditingConfig)
class TranslationConcatTask(PostEditingTask):
    """fairseq's translation task with ``source </s> draft </s>`` in place of the source."""

    def __init__(self, cfg: PostEditingConfig, src_dict: Dictionary, tgt_dict: Dictionary) -> None:
        if src_dict != tgt_dict:
            raise UserError(
                f"{cfg.data}: dict.{cfg.source_lang}.txt and dict.{cfg.target_lang}.txt "
                "differ, but source and draft share one; preprocess with "
                "--joined-dictionary"
            )
        super().__init__(cfg, src_dict, tgt_dict)

    def make_dataset(
        self,
        source: FairseqDataset,
        target: FairseqDataset | None,
        draft: FairseqDataset | None,
        shuffle: bool,
    ) -> JoinedDataset:
        """Joins the sides as they were binarised; without drafts every draft is empty."""
        if draft is None:
            empty = torch.tensor([self.tgt_dict.eos()])
            draft = listed([empty] * len(source))
        return JoinedDataset(
            source,
            draft,
            self.src_dict,
            target,
            left_pad_target=self.cfg.left_pad_target,
            shuffle=shuffle,
            pad_to_multiple=self.cfg.required_seq_len_multiple,
        )

    def get_batch_iterator(
        self, dataset: JoinedDataset, max_tokens: int | None = None, **options: Any
    ) -> EpochBatchIterator:
        """Makes fairseq's iterator; pairs that fill more than a batch are too long."""
        dataset.max_batch_tokens = max_tokens or np.inf
        return super().get_batch_iterator(dataset, max_tokens, **options)

    def build_dataset_for_inference(
        self,
        src_tokens: Sequence[Tensor | tuple[Tensor, Tensor | None]],
        src_lengths: Sequence[int],
        constraints: Tensor | None = None,
    ) -> JoinedDataset:
        """Returns data of sources, or of (source, draft) pairs as interactive reads them."""
        if constraints is not None:
            raise UserError("--constraints is not supported by translation_concat")
        bos = self.src_dict.bos()
        empty = torch.tensor([self.src_dict.eos()])
        sources, drafts = [], []
        for source, draft in map(as_pair, src_tokens):
            draft = empty if draft is None else draft
            sources.append(source[source.ne(bos)])
            drafts.append(draft[draft.ne(bos)])
        return JoinedDataset(listed(sources), listed(drafts), self.src_dict, shuffle=False)
