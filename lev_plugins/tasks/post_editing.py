"""The task that those of the systems derive from: source, target and, where there is one, a draft.

New to fairseq's translation are drafts beside source and target, metrics of decoded text in
validation, and line numbers in messages.
"""

import copy
import logging
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion
from fairseq.data import Dictionary, FairseqDataset, LanguagePairDataset, data_utils
from fairseq.dataclass import FairseqDataclass
from fairseq.models import BaseFairseqModel
from fairseq.tasks.translation import TranslationConfig, TranslationTask, load_langpair_dataset
from torch import Tensor, nn

from ..data.batch import Batch, LogOutput, truncate
from ..data.source_change import MARKS, mark_change
from ..errors import UserError
from ..fairseq_patches.hooks import TrainingHooks
from ..io.lines import say_no_draft
from ..io.text_files import few
from ..options import OptionalStr, option
from .validation import EvaluationConfig, Validation

PLACEHOLDER = "<plh>"
# what to do about lines that are too long
WAYS = (
    "raise --max-source-positions, --max-target-positions or --max-tokens as far as the model "
    "reads, give --truncate-source, shorten such lines, or leave them out with "
    "--skip-invalid-size-inputs-valid-test"
)
# most tokens: of a source, or of a source and its target
Limits = None | int | tuple[int, ...]
logger = logging.getLogger(__name__)


@dataclass
class PostEditingConfig(EvaluationConfig):
    """Options of a task with drafts."""

    draft_lang: OptionalStr = option(
        None,
        "suffix of the draft files beside source and target, such as mt (default: no "
        "drafts, generate from scratch)",
    )
    old_source: bool = option(
        False,
        "sources mark the change from an older source with <del>…</del><ins>…</ins>, "
        "symbols of the dictionary; fairseq-interactive reads source<TAB>draft<TAB>old "
        "source and marks it",
    )


class PostEditingTask(TranslationTask, TrainingHooks):
    """fairseq's translation data, with ``train.src-tgt.DRAFT`` beside them.

    A subclass says in :meth:`make_dataset` what a sentence of the three sides looks like; one whose
    configuration has no ``draft_lang`` knows no drafts.
    """

    cfg: EvaluationConfig
    size_labels = "source/target/draft"  # of dataset.size(i), for error messages
    missing_dictionary_hint = "run preprocess first"
    lines_before = lines_read = 0  # by interactive, before the present lines and with them
    model_max_source = math.inf  # most source tokens of the models that were loaded
    is_training_run = False  # whether the model built last is to be trained

    def __init__(self, cfg: EvaluationConfig, src_dict: Dictionary, tgt_dict: Dictionary) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        if self.old_source and (lacking := [mark for mark in MARKS if mark not in src_dict]):
            raise UserError(
                f"--old-source: the dictionary of the sources lacks {' '.join(lacking)}; mark the "
                "sources' change (examples/translation_memory) and preprocess them, or leave it out"
            )
        self.validation = Validation(self, self.decoded_text)

    @classmethod
    def setup_task(cls, cfg: EvaluationConfig, **kwargs: object) -> Self:
        """Loads the dictionaries; refuses a folder without them, and targets as drafts."""
        if cfg.num_batch_buckets > 0:
            raise UserError("--num-batch-buckets fails in fairseq with numpy 2; leave it out")
        if None not in (cfg.source_lang, cfg.target_lang):  # else the folder tells them
            require_dictionaries(cfg, cls.missing_dictionary_hint)
        task = super().setup_task(cfg, **kwargs)
        if task.draft_lang == cfg.target_lang:
            raise UserError(
                f"--draft-lang {cfg.target_lang} is the target language, so the drafts "
                "would be the references; name the drafts' suffix, such as mt"
            )
        return task

    @property
    def draft_lang(self) -> str | None:
        """The suffix of the drafts, None without."""
        return getattr(self.cfg, "draft_lang", None)

    @property
    def old_source(self) -> bool:
        """Whether sources have their change from an older source marked."""
        return bool(getattr(self.cfg, "old_source", False))

    def mark_change(self, source: str, old: str | None) -> str:
        """A source as the model reads it beside an older one.

        Raises:
            UserError: there is an older one, and the model was trained without.
        """
        if old is not None and not self.old_source:
            raise UserError(
                "an old source is given, but the model was not trained with --old-source; "
                "leave it out"
            )
        return mark_change(source, old or "")

    @classmethod
    def check_resumed(cls, cfg: EvaluationConfig, stored: object, path: str) -> None:
        """Says so where a training that had drafts is resumed without."""
        trained = getattr(stored, "draft_lang", None)
        if trained and not getattr(cfg, "draft_lang", None):
            what = f"the training of {path} resumes without drafts"
            say_no_draft(what, trained, f"Give --draft-lang {trained}")

    # data -------------------------------------------------------------------------------------

    def data_folder(self, split: str, epoch: int) -> str:
        """Where a split is read in an epoch; only training data come in shards."""
        paths = utils.split_paths(self.cfg.data)
        return str(paths[(epoch - 1) % len(paths) if split == self.cfg.train_subset else 0])

    def load_dataset(
        self, split: str, epoch: int = 1, combine: bool = False, **kwargs: object
    ) -> None:
        """Loads one split with its drafts; refuses sides of different length."""
        trained = getattr(kwargs.get("task_cfg"), "draft_lang", None)
        if trained and not self.draft_lang:
            say_no_draft(f"{split} is read without drafts", trained, f"Give --draft-lang {trained}")
        folder = self.data_folder(split, epoch)
        pairs = self._load_pairs(folder, split, combine)
        draft = None if self.draft_lang is None else self._load_drafts(folder, split)
        if draft is not None and len(draft) != len(pairs):
            raise UserError(
                f"{folder}: {len(pairs)} sources of {split} but {len(draft)} drafts "
                f"({self.draft_lang}); preprocess the files again"
            )
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

    def _load_drafts(self, folder: str, split: str) -> FairseqDataset:
        cfg = self.cfg
        name = f"{split}.{cfg.source_lang}-{cfg.target_lang}.{self.draft_lang}"
        path = os.path.join(folder, name)
        drafts = data_utils.load_indexed_dataset(path, self.tgt_dict, cfg.dataset_impl)
        if drafts is None:
            raise UserError(
                f"{folder} has no {name}.bin; run preprocess with --draft-lang {self.draft_lang}, "
                "or leave the flag out"
            )
        return drafts

    def make_dataset(
        self,
        source: FairseqDataset,
        target: FairseqDataset | None,
        draft: FairseqDataset | None,
        shuffle: bool,
    ) -> FairseqDataset:
        """A split from its sides, each sentence ending in </s>; None where a side is missing."""
        raise NotImplementedError

    def filter_indices_by_size(
        self,
        indices: np.ndarray,
        dataset: FairseqDataset,
        max_positions: Limits = None,
        ignore_invalid_inputs: bool = False,
    ) -> np.ndarray:
        """Names every line that is too long, and stops unless it may be skipped.

        Raises:
            UserError: a sentence longer than the model can read or write, or all are.
        """
        kept, ignored = dataset.filter_indices_by_size(indices, max_positions)
        if len(ignored) == 0:
            return kept
        lines = [int(index) + 1 + self.lines_before for index in sorted(ignored)]
        limits, shown = _joined(max_positions), few(lines)
        if ignore_invalid_inputs and (len(kept) or getattr(dataset, "tgt", None) is None):
            message = "%d lines above the limit of %s tokens are skipped: %s"
            logger.warning(message, len(lines), limits, shown)
            return kept
        size = _joined(dataset.size(min(ignored)))
        raise UserError(
            f"line {lines[0]} has {size} tokens ({self.size_labels}) where the limit is {limits}; "
            f"{len(lines)} such lines: {shown}; {WAYS}"
        )

    # training and validation ------------------------------------------------------------------

    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False) -> BaseFairseqModel:
        """Builds the model and, for a training, what decodes and counts in validation.

        Raises:
            UserError: options of ``--eval-bleu-…`` that cannot be, or a library is missing.
        """
        # not TranslationTask's own: it prepares for BLEU alone
        model = super(TranslationTask, self).build_model(cfg, from_checkpoint)
        self.is_training_run = not from_checkpoint
        if from_checkpoint:
            limits = getattr(model, "max_positions", lambda: None)()
            if isinstance(limits, tuple):
                self.model_max_source = min(limits[0], self.model_max_source)
        else:
            self.validation.prepare(model)
            for metric in self.validation.metrics:
                logger.info("validation: %s (%s)", metric.name, metric.signature())
        return model

    def build_criterion(self, cfg: FairseqDataclass) -> FairseqCriterion:
        """Builds the criterion; what selects checkpoints in a training is checked here as well.

        Raises:
            UserError: ``--best-checkpoint-metric`` is not computed or goes the other way, or the
                criterion logs a metric of the same name.
        """
        criterion = super().build_criterion(cfg)
        own = bool(getattr(criterion, "report_accuracy", False))
        if own and "accuracy" in self.validation.names:
            raise UserError(
                "--report-accuracy and --eval-metrics accuracy (sentences right) have the "
                "same name; leave one out"
            )
        if self.is_training_run and not (own and self.cfg.best_checkpoint_metric == "accuracy"):
            self.validation.check_best_checkpoint_metric()
        return criterion

    def valid_step(
        self, sample: Batch, model: nn.Module, criterion: FairseqCriterion
    ) -> tuple[Tensor, int, LogOutput]:
        """The criterion's, and the statistics of all metrics in the logging output."""
        # not TranslationTask's own, which would decode for BLEU a second time
        loss, size, logged = super(TranslationTask, self).valid_step(sample, model, criterion)
        return loss, size, {**logged, **self.validation.statistics(sample, model)}

    def reduce_metrics(self, logging_outputs: list[LogOutput], criterion: FairseqCriterion) -> None:
        """The criterion's, and each metric under its name."""
        # not TranslationTask's own, which logs no BLEU where no n-gram was seen
        super(TranslationTask, self).reduce_metrics(logging_outputs, criterion)
        self.validation.reduce(logging_outputs)

    def decoded_text(self, tokens: Tensor, unknown: str) -> str:
        """Decoded text as validation counts it, subwords joined; ``unknown`` for <unk>."""
        bpe = self.cfg.eval_bleu_remove_bpe
        return str(self.tgt_dict.string(tokens.int().cpu(), bpe, unk_string=unknown))

    # interactive and Python -------------------------------------------------------------------

    @property
    def max_source_tokens(self) -> int:
        """Most tokens of a source that the task and the models that were loaded read."""
        return int(min(self.cfg.max_source_positions, self.model_max_source))

    def cut_source(self, tokens: Tensor) -> Tensor:
        """A source with its end; the text is cut where ``--truncate-source`` asks for it."""
        return truncate(tokens, self.max_source_tokens) if self.cfg.truncate_source else tokens

    def count_lines(self, lines: Sequence[str]) -> None:
        """Notes lines that interactive has read, for their numbers in messages."""
        self.lines_before = self.lines_read
        self.lines_read += len(lines)

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
        """:meth:`get_interactive_tokens_and_lengths` with a way to encode drafts.

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
            source = self.mark_change(source, rest[1] if rest[1:] else None)
            try:
                draft = encode_draft(rest[0]) if rest else None
            except UserError as error:
                raise UserError(f"input line {number}: {error}") from error
            tokens = self.encode_text(source, encode_fn, self.src_dict)
            pairs.append((self.cut_source(tokens), draft))
        return pairs, [len(pair[0]) for pair in pairs]

    @staticmethod
    def encode_text(text: str, encode_fn: Callable[[str], str], dictionary: Dictionary) -> Tensor:
        """<s>, the tokens of a line of text and </s>; words that are not known become <unk>."""
        tokens = dictionary.encode_line(encode_fn(text), add_if_not_exist=False).long()
        # a special symbol typed as text is not a special symbol; where there is no placeholder
        # its index is that of <unk>
        words = tokens[:-1]
        special = (words < dictionary.nspecial) | words.eq(dictionary.index(PLACEHOLDER))
        words.masked_fill_(special, dictionary.unk())
        return torch.cat([tokens.new_tensor([dictionary.bos()]), tokens])


def without_placeholder(dictionary: Dictionary) -> Dictionary:
    """A copy of a dictionary, without the placeholder and what stands behind it."""
    plain = copy.deepcopy(dictionary)
    end = plain.indices.pop(PLACEHOLDER)
    del plain.symbols[end:], plain.count[end:]
    return plain


def require_dictionaries(cfg: TranslationConfig, missing_dictionary_hint: str) -> None:
    """Refuse a data folder without both dictionaries; the hint tells how to make them."""
    for lang in (cfg.source_lang, cfg.target_lang):
        path = os.path.join(*utils.split_paths(cfg.data)[:1], f"dict.{lang}.txt")
        if not os.path.isfile(path):
            raise UserError(f"dictionary {path} does not exist; {missing_dictionary_hint}")


def _joined(sizes: Limits) -> str:
    return "/".join(map(str, sizes)) if isinstance(sizes, tuple) else str(sizes)
