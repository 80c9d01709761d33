"""The task of systems that read drafts: source, target and, where there is one, a draft."""

import copy
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from fairseq import utils
from fairseq.data import (
    Dictionary,
    FairseqDataset,
    LanguagePairDataset,
    ListDataset,
    data_utils,
)
from fairseq.tasks.translation import load_langpair_dataset
from torch import Tensor

from lev_runtime.errors import UserError
from lev_runtime.io.lines import say_no_draft
from lev_runtime.text.source_change import MARKS, read_change

from ..options import OptionalStr, option
from .evaluated_translation import EvaluatedTranslationTask
from .validation import EvaluationConfig

PLACEHOLDER = "<plh>"
logger = logging.getLogger(__name__)


@dataclass
class PostEditingConfig(EvaluationConfig):
    """Options of a task with drafts."""

    draft_lang: OptionalStr = option(
        None,
        "suffix of the draft files next to source and target, such as mt (default: no "
        "drafts, generate from scratch)",
    )
    old_source: bool = option(
        False,
        "sources mark the change from an older source with <del>…</del><ins>…</ins>, "
        "symbols of the dictionary; fairseq-interactive reads source<TAB>draft<TAB>old "
        "source and marks it",
    )


class PostEditingTask(EvaluatedTranslationTask):
    """fairseq's translation data, with ``train.src-tgt.DRAFT`` next to them.

    A subclass says in :meth:`make_dataset` what a sentence of the three sides looks like.
    """

    size_labels = "source/target/draft"  # of dataset.size(i), for error messages

    def __init__(self, cfg: EvaluationConfig, src_dict: Dictionary, tgt_dict: Dictionary) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        lacking = [mark for mark in MARKS if mark not in src_dict]
        if self.old_source and lacking:
            raise UserError(
                f"--old-source: the dictionary of the sources lacks {' '.join(lacking)}; mark the "
                "sources' change (lev_memory) and preprocess them, or leave it out"
            )

    @classmethod
    def check_training(cls, cfg: Any) -> None:
        """Refuses a folder without drafts to train on."""
        folder = utils.split_paths(cfg.task.data)[0]
        drafts = f"{cfg.dataset.train_subset}.*.{cfg.task.draft_lang}"
        if cfg.task.draft_lang and not any(Path(folder).glob(f"{drafts}*")):
            raise UserError(
                f"{folder} has no {drafts}; check the folder and --draft-lang, or make the data "
                "with lev-preprocess"
            )

    @classmethod
    def setup_task(cls, cfg: EvaluationConfig, **kwargs: object) -> Self:
        """Loads the dictionaries; refuses targets as drafts."""
        task = super().setup_task(cfg, **kwargs)
        if task.draft_lang == cfg.target_lang:
            raise UserError(
                f"--draft-lang {cfg.target_lang} is the target language, so the drafts "
                "would be the references; name the drafts' suffix, such as mt"
            )
        return task

    @property
    def draft_lang(self) -> str | None:
        """Returns the suffix of the drafts, None without."""
        return getattr(self.cfg, "draft_lang", None)

    @property
    def old_source(self) -> bool:
        """Returns whether sources have their change from an older source marked."""
        return bool(getattr(self.cfg, "old_source", False))

    @classmethod
    def check_resumed(cls, cfg: EvaluationConfig, stored: object, path: str) -> None:
        """Says so where a training that had drafts is resumed without."""
        trained = getattr(stored, "draft_lang", None)
        if trained and not getattr(cfg, "draft_lang", None):
            what = f"the training of {path} resumes without drafts"
            say_no_draft(what, trained, f"Give --draft-lang {trained}")

    # data -------------------------------------------------------------------------------------

    def load_dataset(
        self, split: str, epoch: int = 1, combine: bool = False, **kwargs: object
    ) -> None:
        """Loads one split with its drafts; refuses sides of different length."""
        trained = getattr(kwargs.get("task_cfg"), "draft_lang", None)
        if trained and not self.draft_lang:
            say_no_draft(f"{split} is read without drafts", trained, f"Give --draft-lang {trained}")
        folder = self.data_folder(split, epoch)
        pairs = self._load_pairs(folder, split, combine)
        draft = None
        if self.draft_lang is not None:
            draft = self._load_drafts(folder, split, len(pairs))
        validates = self.is_training_run and split != self.cfg.train_subset
        if validates and None not in (draft, pairs.tgt):
            self.validation.log_draft_baseline(split, draft, pairs.tgt)
        self.dataset_to_epoch_iter.pop(self.datasets.get(split), None)  # fairseq keeps all shards
        self.datasets[split] = self.make_dataset(pairs.src, pairs.tgt, draft, split != "test")

    def _load_pairs(self, folder: str, split: str, combine: bool) -> LanguagePairDataset:
        cfg = self.cfg
        return load_langpair_dataset(
            folder,
            split,
            cfg.source_lang,
            self.src_dict,
            cfg.target_lang,
            self.tgt_dict,
            combine=combine,
            dataset_impl=cfg.dataset_impl,
            upsample_primary=max(cfg.upsample_primary, 1),
            left_pad_source=cfg.left_pad_source,
            left_pad_target=cfg.left_pad_target,
            max_source_positions=self.max_source_tokens - 1,  # <s> will come before it
            max_target_positions=cfg.max_target_positions,
            truncate_source=cfg.truncate_source,
        )

    def _load_drafts(self, folder: str, split: str, source_count: int) -> FairseqDataset:
        cfg = self.cfg
        name = f"{split}.{cfg.source_lang}-{cfg.target_lang}.{self.draft_lang}"
        path = os.path.join(folder, name)
        drafts = data_utils.load_indexed_dataset(path, self.tgt_dict, cfg.dataset_impl)
        if drafts is None:
            raise UserError(
                f"{folder} has no {name}.bin; run preprocess with --draft-lang {self.draft_lang}, "
                "or leave the flag out"
            )
        if len(drafts) != source_count:
            raise UserError(
                f"{folder}: {source_count} sources of {split} but {len(drafts)} drafts "
                f"({self.draft_lang}); preprocess the files again"
            )
        return drafts

    def make_dataset(
        self,
        source: FairseqDataset,
        target: FairseqDataset | None,
        draft: FairseqDataset | None,
        shuffle: bool,
    ) -> FairseqDataset:
        """Makes a split from its sides, each sentence ending in </s>; None: a side is missing."""
        raise NotImplementedError

    # interactive and Python -------------------------------------------------------------------

    def get_interactive_tokens_and_lengths(
        self, lines: list[str], encode_fn: Callable[[str], str]
    ) -> tuple[list[Any], list[int]]:
        """Reads ``source``, ``source<TAB>draft`` or, with ``--old-source``, a third field; all are
        encoded alike.

        Returns:
            source and draft of each line, None without a draft, and the sources' lengths. Line
            numbers in messages count from the first call.

        Raises:
            UserError: a line with too many tabs.
        """
        return self.encode_lines(
            lines, encode_fn, lambda draft: self.encode_text(draft, encode_fn, self.tgt_dict)
        )

    def encode_lines(
        self, lines: list[str], encode_fn: Callable[[str], str], encode_draft: Callable[[str], Any]
    ) -> tuple[list[Any], list[int]]:
        """Does :meth:`get_interactive_tokens_and_lengths` with a way to encode drafts.

        Raises:
            UserError: a line with too many tabs, or what ``encode_draft`` refuses.
        """
        pairs = []
        self.count_lines(lines)
        for number, line in enumerate(lines, start=self.lines_before + 1):
            source, *rest = line.split("\t")
            if len(rest) > 1 + self.old_source:
                more = "[<TAB>old source]" if self.old_source else " (an old source: --old-source)"
                raise UserError(
                    f"input line {number} has {len(rest)} tabs; write source, or "
                    f"source<TAB>draft{more}"
                )
            source = read_change(source, rest[1] if rest[1:] else None, self.old_source)
            try:
                draft = encode_draft(rest[0]) if rest else None
            except UserError as error:
                raise UserError(f"input line {number}: {error}") from None
            tokens = self.encode_text(source, encode_fn, self.src_dict)
            pairs.append((self.cut_source(tokens), draft))
        return pairs, [len(pair[0]) for pair in pairs]

    @staticmethod
    def encode_text(text: str, encode_fn: Callable[[str], str], dictionary: Dictionary) -> Tensor:
        """Returns <s>, the tokens of a line of text and </s>; unknown words become <unk>."""
        tokens = dictionary.encode_line(encode_fn(text), add_if_not_exist=False).long()
        # a special symbol typed as text is not a special symbol; where there is no placeholder
        # its index is that of <unk>
        words = tokens[:-1]
        special = (words < dictionary.nspecial) | words.eq(dictionary.index(PLACEHOLDER))
        words.masked_fill_(special, dictionary.unk())
        begin = tokens.new_tensor([dictionary.bos()])
        return torch.cat([begin, tokens])


def without_placeholder(dictionary: Dictionary) -> Dictionary:
    """Returns a copy of a dictionary, without the placeholder and the words after it."""
    plain = copy.deepcopy(dictionary)
    end = plain.indices.pop(PLACEHOLDER)
    del plain.symbols[end:], plain.count[end:]
    return plain


def as_pair(item: Any) -> tuple[Tensor, Any]:
    """Returns a source and its draft, None without, of what interactive reads of a line."""
    return item if isinstance(item, tuple) else (item, None)


def listed(rows: Sequence[Tensor]) -> ListDataset:
    """Returns sentences as a data set with their lengths."""
    return ListDataset(rows, np.array([len(row) for row in rows]))
