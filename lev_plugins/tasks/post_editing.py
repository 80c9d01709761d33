"""What tasks on triples share: source, target and, where there is one, a draft of the target."""

import copy
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from fairseq.data import (
    AppendTokenDataset,
    ConcatDataset,
    Dictionary,
    FairseqDataset,
    StripTokenDataset,
    TruncateDataset,
    data_utils,
    indexed_dataset,
)
from torch import Tensor

from ..errors import UserError
from ..io.notes import say_no_draft
from ..options import OptionalStr, option
from .evaluation import EvaluatedTask, EvaluationConfig, existing_folder, require_dictionaries

PLACEHOLDER = "<plh>"
logger = logging.getLogger(__name__)


@dataclass
class PostEditingConfig(EvaluationConfig):
    draft_lang: OptionalStr = option(
        None,
        "suffix of the drafts y0 beside source and target (such as mt); without it sentences are "
        "generated from scratch",
    )


class PostEditingTask(EvaluatedTask):
    """fairseq's translation data, with ``train.src-tgt.DRAFT`` beside them.

    A subclass says in :meth:`make_dataset` what a sentence of the three sides looks like.
    """

    cfg: PostEditingConfig
    sides = "source/target/draft"

    @classmethod
    def check_data_folder(cls, cfg: EvaluationConfig) -> None:
        """What preprocess wrote; the languages as the folder says."""
        folder = existing_folder(cfg, "that preprocess wrote", "run preprocess first")
        if cfg.source_lang is None or cfg.target_lang is None:
            source, target = data_utils.infer_language_pair(folder)
            if source is None or target is None:
                raise UserError(
                    f"{folder}: no language pair found; name the folder that preprocess wrote, or "
                    "give --source-lang and --target-lang"
                )
            cfg.source_lang, cfg.target_lang = source, target
        if cast("PostEditingConfig", cfg).draft_lang == cfg.target_lang:
            raise UserError(
                f"--draft-lang {cfg.target_lang} is the target's: the drafts would be the right "
                "answers; name the language of the drafts, mt say"
            )
        require_dictionaries(cfg, folder, "run preprocess first")

    def check_resumed(self, stored: object, path: str) -> None:
        """Says so where a training that had drafts is resumed without.

        Args:
            stored: this task's configuration in the checkpoint. path: of the checkpoint.
        """
        trained = getattr(stored, "draft_lang", None)
        if trained and not self.cfg.draft_lang:
            what = f"the training of {path} resumes without drafts"
            say_no_draft(what, trained, f"Give --draft-lang {trained}")

    # data -------------------------------------------------------------------------------------

    def load_dataset(
        self, split: str, epoch: int = 1, combine: bool = False, **kwargs: object
    ) -> None:
        """Loads one split with its drafts.

        Raises:
            UserError: a file that is not there, or sides of different length.
        """
        trained = getattr(kwargs.get("task_cfg"), "draft_lang", None)
        if trained and not self.cfg.draft_lang:
            say_no_draft(f"{split} is read without drafts", trained, f"Give --draft-lang {trained}")
        folder = self.data_folder(split, epoch)
        self.datasets[split] = self._load_triples(folder, split, combine)

    def _load_triples(self, folder: str, split: str, combine: bool) -> FairseqDataset:
        src, tgt, draft_lang = self.cfg.source_lang, self.cfg.target_lang, self.cfg.draft_lang
        prefixes = _split_prefixes(folder, split, src, tgt, combine, self.cfg.dataset_impl)
        source = self._load_side(prefixes, src, self.src_dict, required=True)
        if self.cfg.truncate_source:
            source = self._truncated(source)
        target = self._load_side(prefixes, tgt, self.tgt_dict, required=False)
        draft = None
        if draft_lang is not None:
            draft = self._load_side(prefixes, draft_lang, self.tgt_dict, required=True)
        for name, side in ((tgt, target), (draft_lang, draft)):
            if side is not None and len(side) != len(source):
                raise UserError(
                    f"{prefixes[0]}{{{src},{name}}}: {len(source)} sources but {len(side)} lines "
                    f"of {name}; preprocess the files again"
                )
        with_drafts = " with drafts" if draft is not None else ""
        logger.info("%s %s: %d sentences%s", folder, split, len(source), with_drafts)
        if draft is not None and target is not None and split != self.cfg.train_subset:
            self.log_no_edit(split, draft, target)
        return self.make_dataset(source, target, draft, shuffle=split != "test")

    def make_dataset(
        self,
        source: FairseqDataset,
        target: FairseqDataset | None,
        draft: FairseqDataset | None,
        shuffle: bool,
    ) -> FairseqDataset:
        """A split from its sides, each sentence ending in </s>; None where a side is missing."""
        raise NotImplementedError

    def _load_side(
        self, prefixes: list[str], lang: str, dictionary: Dictionary, required: bool
    ) -> Any:
        """One side of a split, its parts joined; None where an optional side is missing."""
        parts = []
        for prefix in prefixes:
            part = data_utils.load_indexed_dataset(prefix + lang, dictionary, self.cfg.dataset_impl)
            if part is None and required:
                flag = " --draft-lang" if lang == self.cfg.draft_lang else ""
                raise UserError(
                    f"{prefix}{lang}.bin does not exist; run preprocess with{flag} {lang}, or "
                    f"leave{flag or ' the language'} out"
                )
            if part is None:
                return None
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        ratios = [1] * len(parts)
        ratios[0] = self.cfg.upsample_primary if self.cfg.upsample_primary > 0 else 1
        return ConcatDataset(parts, ratios)

    def _truncated(self, source: FairseqDataset) -> FairseqDataset:
        eos = self.src_dict.eos()
        room = self.longest_source - 2  # <s> and </s>
        return AppendTokenDataset(TruncateDataset(StripTokenDataset(source, eos), room), eos)

    def max_positions(self) -> tuple[int, int]:
        """The longest source and target in tokens, <s> and </s> included."""
        return self.cfg.max_source_positions, self.cfg.max_target_positions

    # interactive and Python -------------------------------------------------------------------

    def get_interactive_tokens_and_lengths(
        self, lines: list[str], encode_fn: Callable[[str], str]
    ) -> tuple[list[Any], list[int]]:
        """Reads ``source`` or ``source<TAB>draft``; both are encoded alike.

        Returns:
            source and draft of each line, None without a draft, and the sources' lengths. Line
            numbers in messages count from the first call.

        Raises:
            UserError: a line with more than one tab.
        """
        return self.encode_lines(
            lines, encode_fn, lambda draft: self.encode_text(draft, encode_fn, self.tgt_dict)
        )

    def encode_lines(
        self, lines: list[str], encode_fn: Callable[[str], str], encode_draft: Callable[[str], Any]
    ) -> tuple[list[Any], list[int]]:
        """:meth:`get_interactive_tokens_and_lengths` with a way to encode drafts.

        Raises:
            UserError: a line with more than one tab, or what ``encode_draft`` refuses.
        """
        pairs = []
        self.count_lines(lines)
        for number, line in enumerate(lines, start=self.lines_before + 1):
            source, *rest = line.split("\t")
            if len(rest) > 1:
                raise UserError(
                    f"input line {number} has {len(rest)} tabs; write source, or source<TAB>draft"
                )
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


def _split_prefixes(
    folder: str, split: str, src: str, tgt: str, combine: bool, impl: str | None
) -> list[str]:
    """Path prefixes of a split and, with ``combine``, of its further parts (split1, split2 …)."""
    prefixes: list[str] = []
    while True:
        name = split + (str(len(prefixes)) if prefixes else "")
        for pair in (f"{src}-{tgt}", f"{tgt}-{src}"):
            prefix = os.path.join(folder, f"{name}.{pair}.")
            if indexed_dataset.dataset_exists(prefix + src, impl=impl):
                prefixes.append(prefix)
                break
        else:
            break
        if not combine:
            break
    if not prefixes:
        raise UserError(
            f"{folder} has no {split} data for {src}-{tgt} ({split}.{src}-{tgt}.{src}.bin is "
            "missing); run preprocess, or name another split"
        )
    return prefixes
