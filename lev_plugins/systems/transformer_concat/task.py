"""Task ``translation_concat``: from source and draft, read as one sequence, to a target.

The task of autoregressive models that post-edit (paper, §C.2), with fairseq's criterions, its
beam search and its options of both.
"""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from fairseq.criterions import FairseqCriterion
from fairseq.data import Dictionary, FairseqDataset
from fairseq.optim import FairseqOptimizer
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks import register_task
from torch import Tensor, nn

from ...data.batch import Batch, Hypothesis, LogOutput
from ...errors import UserError
from ...fairseq_patches import compare_symbols
from ...tasks.post_editing import PostEditingConfig, PostEditingTask
from .dataset import ConcatEditDataset, join_draft


@dataclass
class TranslationConcatConfig(PostEditingConfig):
    """The options of all tasks on triples."""


@register_task("translation_concat", dataclass=TranslationConcatConfig)
class TranslationConcatTask(PostEditingTask):
    """fairseq's translation task with ``source </s> draft </s>`` in the place of the source.

    A batch keeps source and draft apart, so that commands print the source as it is; the two are
    joined when a model is about to read them.

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

    # data -------------------------------------------------------------------------------------

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
        """Data of (source, draft) pairs as interactive reads them, or of the two joined."""
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
            draft_as_constraints=True,
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

    # training and decoding --------------------------------------------------------------------

    def joined(self, sample: Batch) -> Batch:
        """A batch as models read it, with ``source </s> draft </s>`` (B × T) as ``src_tokens``.

        A batch without ``draft`` has been joined already.
        """
        if "draft" not in sample:
            return sample
        pad = self.src_dict.pad()
        tokens = join_draft(
            sample["net_input"]["src_tokens"],
            sample["draft"],
            pad,
            self.src_dict.bos(),
            self.cfg.required_seq_len_multiple,
        )
        made = sample.copy()
        del made["draft"]
        made["net_input"] = {
            **sample["net_input"],
            "src_tokens": tokens,
            "src_lengths": tokens.ne(pad).sum(1),
        }
        return made

    def train_step(
        self,
        sample: Batch,
        model: nn.Module,
        criterion: FairseqCriterion,
        optimizer: FairseqOptimizer,
        update_num: int,
        ignore_grad: bool = False,
    ) -> tuple[Tensor, int, LogOutput]:
        """fairseq's own step, on sources joined with their drafts."""
        return super().train_step(
            self.joined(sample), model, criterion, optimizer, update_num, ignore_grad
        )

    def valid_step(
        self, sample: Batch, model: nn.Module, criterion: FairseqCriterion
    ) -> tuple[Tensor, int, LogOutput]:
        return super().valid_step(self.joined(sample), model, criterion)

    def build_generator(
        self, models: Sequence[nn.Module], args: Namespace, *more: object, **kwargs: object
    ) -> SequenceGenerator:
        """fairseq's beam search.

        Raises:
            UserError: lexical constraints, whose lines would be read as drafts.
        """
        if getattr(args, "constraints", None):
            raise UserError("--constraints is not supported by translation_concat")
        return super().build_generator(models, args, *more, **kwargs)

    def inference_step(
        self,
        generator: SequenceGenerator,
        models: Sequence[nn.Module],
        sample: Batch,
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        """``constraints`` carries the drafts in fairseq-interactive (see EditDataset)."""
        if constraints is not None:
            sample = {**sample, "draft": constraints}
        return super().inference_step(generator, models, self.joined(sample), prefix_tokens)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Checks that a checkpoint was trained with the same dictionary.

        Raises:
            UserError: it was not.
        """
        compare_symbols(self, state_dict)
        saved = state_dict.get("joined_symbols", self.src_dict.symbols)
        self.refuse_other_symbols("another dictionary", saved, self.src_dict)
