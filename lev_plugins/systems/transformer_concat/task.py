"""Task ``translation_concat``: from source and draft, read as one sequence, to a target.

The task of autoregressive models that post-edit (paper, §C.2), with fairseq's criterions, its
beam search and its options of both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from fairseq.data import Dictionary, FairseqDataset
from fairseq.tasks import register_task
from torch import Tensor

from ...errors import UserError
from ...fairseq_patches import compare_symbols
from ...tasks.post_editing import PostEditingConfig, PostEditingTask
from .dataset import ConcatEditDataset


@dataclass
class TranslationConcatConfig(PostEditingConfig):
    """The options of all tasks on triples."""


@register_task("translation_concat", dataclass=TranslationConcatConfig)
class TranslationConcatTask(PostEditingTask):
    """fairseq's translation task with ``source </s> draft </s>`` in the place of the source.

    Raises:
        UserError: source and target have different dictionaries.
    """

    cfg: TranslationConcatConfig

    def __init__(
        self, cfg: TranslationConcatConfig, src_dict: Dictionary, tgt_dict: Dictionary
    ) -> None:
        if src_dict != tgt_dict:
            raise UserError(
                f"{cfg.data}: dict.{cfg.source_lang}.txt and dict.{cfg.target_lang}.txt differ, "
                "but source and draft are read with one; preprocess with --joined-dictionary"
            )
        super().__init__(cfg, src_dict, tgt_dict)
        self.state.merge_state_dict({"joined_symbols": list(src_dict.symbols)})

    def make_dataset(
        self,
        source: FairseqDataset,
        target: FairseqDataset | None,
        draft: FairseqDataset | None,
        shuffle: bool,
    ) -> ConcatEditDataset:
        """Sides as they were binarised; without drafts every draft is empty."""
        empty = [torch.tensor([self.tgt_dict.eos()])] * len(source)
        return ConcatEditDataset(
            source,
            source.sizes,
            self.src_dict,
            target,
            None if target is None else target.sizes,
            self.tgt_dict,
            draft=empty if draft is None else draft,
            draft_sizes=[1] * len(source) if draft is None else draft.sizes,
            left_pad_source=self.cfg.left_pad_source,
            left_pad_target=self.cfg.left_pad_target,
            shuffle=shuffle,
            pad_to_multiple=self.cfg.required_seq_len_multiple,
        )

    def build_dataset_for_inference(
        self,
        src_tokens: Sequence[Tensor | tuple[Tensor, Tensor | None]],
        src_lengths: Sequence[int],
        constraints: Tensor | None = None,
    ) -> ConcatEditDataset:
        """Data of (source, draft) pairs as interactive reads them, or of the two joined.

        Raises:
            UserError: lexical constraints, whose lines would be read as drafts.
        """
        if constraints is not None:
            raise UserError("--constraints is not supported by translation_concat")
        pairs = [self._pair(item) for item in src_tokens]
        sources, drafts = [source for source, _ in pairs], [draft for _, draft in pairs]
        return ConcatEditDataset(
            sources,
            [len(source) for source in sources],
            self.src_dict,
            tgt_dict=self.tgt_dict,
            draft=drafts,
            draft_sizes=[len(draft) for draft in drafts],
            left_pad_source=self.cfg.left_pad_source,
            shuffle=False,
        )

    def _pair(self, item: Tensor | tuple[Tensor, Tensor | None]) -> list[Tensor]:
        """Source and draft without <s>; without a draft, an empty one."""
        bos, eos = self.src_dict.bos(), self.src_dict.eos()
        if isinstance(item, Tensor):
            end = int(item.eq(eos).nonzero()[0]) + 1
            item = (item[:end], item[end:])
        source, draft = item
        if draft is None or len(draft) == 0:
            draft = source.new_tensor([eos])
        return [side[side.ne(bos)] for side in (source, draft)]

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Checks that a checkpoint was trained with the same dictionary.

        Raises:
            UserError: it was not.
        """
        compare_symbols(self, state_dict)
        saved = state_dict.get("joined_symbols", self.src_dict.symbols)
        self.refuse_other_symbols("another dictionary", saved, self.src_dict)
