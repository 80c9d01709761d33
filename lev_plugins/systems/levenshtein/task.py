"""Task ``translation_edit``: turns a source, with or without a draft, into a target."""

import copy
import functools
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.criterions import CRITERION_REGISTRY, FairseqCriterion
from fairseq.data import Dictionary, FairseqDataset, PrependTokenDataset
from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.utils import merge_with_parent
from fairseq.models import ARCH_MODEL_REGISTRY, BaseFairseqModel
from fairseq.optim import FairseqOptimizer
from fairseq.tasks import FairseqTask, register_task
from omegaconf import OmegaConf
from torch import Tensor, nn

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import read_lines
from lev_runtime.refine.policy import is_edit_model
from lev_runtime.text.markup import write_mark
from lev_runtime.text.sentences import Draft as Draft
from lev_runtime.text.sentences import marked_tokens

from ...data.batch import Batch, Hypothesis, LogOutput
from ...data.edit_dataset import EditDataset
from ...tasks.post_editing import (
    PLACEHOLDER,
    PostEditingTask,
    as_pair,
    listed,
    without_placeholder,
)
from .config import LevenshteinEditorConfig, TranslationEditConfig
from .expert import TrainingBatch, make_states
from .generator import RefinementGenerator, RefinementOptions, delete_threshold, symbols_of
from .stock import editor_config
from .stock_decoding import StockGenerator

# a source and, where the line has one, its draft
EncodedLine = tuple[Tensor, Draft | None]


@register_task("translation_edit", dataclass=TranslationEditConfig)
class TranslationEditTask(PostEditingTask):
    """Generation and post-editing by insertion and deletion.

    The target dictionary gets one symbol more, the placeholder ``<plh>``.
    """

    cfg: TranslationEditConfig

    def __init__(
        self, cfg: TranslationEditConfig, src_dict: Dictionary, tgt_dict: Dictionary
    ) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        for dictionary in {id(d): d for d in (src_dict, tgt_dict)}.values():
            dictionary.add_symbol(PLACEHOLDER)
        self.placeholder = tgt_dict.index(PLACEHOLDER)
        self.symbols = symbols_of(tgt_dict, self.placeholder)
        self.epoch = 1
        self.edits = False  # whether the model built last is an edit model
        # how often a word is met, for random roll-in; dictionaries of checkpoints have no counts
        words = torch.tensor(tgt_dict.count[tgt_dict.nspecial : self.placeholder]).double()
        words = words if words.any() else torch.ones_like(words)
        self.frequencies = F.pad(words, (tgt_dict.nspecial, 1))

    @classmethod
    def check_training(cls, cfg: Any) -> None:
        """Refuses a roll-in without a start, or a share of a time that no scheduler measures."""
        super().check_training(cfg)
        duration = cfg.task.roll_in_updates
        starts = cfg.task.alpha_start, cfg.task.beta_start
        if (duration > 0) != any(start is not None for start in starts):
            raise UserError(
                "--roll-in-updates needs --alpha-start or --beta-start, and they need it: "
                "give both or neither"
            )
        if 0 < duration < 1 and getattr(cfg.lr_scheduler, "_name", None) != "time_budget":
            raise UserError(
                f"--roll-in-updates {duration} is a share of the time and needs "
                "--lr-scheduler time_budget; with other schedules give a number of updates"
            )

    # data -------------------------------------------------------------------------------------

    def make_dataset(
        self,
        source: FairseqDataset,
        target: FairseqDataset | None,
        draft: FairseqDataset | None,
        shuffle: bool,
    ) -> EditDataset:
        """Puts <s> before each sentence."""
        bos = self.tgt_dict.bos()
        source, target, draft = (
            None if side is None else PrependTokenDataset(side, bos)
            for side in (source, target, draft)
        )
        starts_from_drafts = self.cfg.beta > 0 or (self.cfg.beta_start or 0) > 0
        return EditDataset(
            source,
            target,
            draft,
            self.src_dict,
            self.tgt_dict,
            left_pad_source=self.cfg.left_pad_source,
            left_pad_target=False,
            shuffle=shuffle,
            aligned=self.is_training_run and starts_from_drafts,
            pad_to_multiple=self.cfg.required_seq_len_multiple,
        )

    # interactive and Python -------------------------------------------------------------------

    def encode_draft(
        self, text: str, encode_fn: Callable[[str], str], markup: bool | None = None
    ) -> Draft:
        """Returns a draft's tokens, <unk> for words that are not known, and the marks on them.

        markup: whether the text has marks; by default what ``--markup`` says.

        Raises:
            UserError: marks that cannot be read, or a term with a word that is not known.
        """
        unk = self.tgt_dict.unk()
        has_marks = self.cfg.markup if markup is None else markup

        def numbers(words: Sequence[str]) -> list[int]:
            tokens = self.encode_text(" ".join(words), str, self.tgt_dict)
            is_added = tokens >= self.placeholder  # fairseq adds words that --post-process joins
            return tokens.masked_fill(is_added, unk).tolist()  # type: ignore[no-any-return]

        longest = self.cfg.max_target_positions
        words, *numbered = marked_tokens(text, has_marks, encode_fn, numbers, self.symbols, longest)
        return Draft(words, *map(torch.tensor, numbered))

    def get_interactive_tokens_and_lengths(
        self, lines: list[str], encode_fn: Callable[[str], str]
    ) -> tuple[list[EncodedLine], list[int]]:
        """See the base class; drafts have marks if the task has them, or ``--terms``.

        Raises:
            UserError: a draft of a source with terms, or errors of the base class.
        """
        markup = self.cfg.markup or bool(self.terms)
        encode = functools.partial(self.encode_draft, encode_fn=encode_fn, markup=markup)
        return self.encode_lines(list(map(self._with_terms, lines)), encode_fn, encode)

    @functools.cached_property
    def terms(self) -> dict[str, str]:
        """Returns the terms of sources, marked, from the file that ``--terms`` names."""
        path = getattr(self.cfg, "terms", None)
        rows = [line.split("\t") for line in read_lines(path)] if path else []
        return {
            source: " ".join(write_mark(term, "term") for term in terms) for source, *terms in rows
        }

    def _with_terms(self, line: str) -> str:
        """Returns a line that starts from the terms of its source, if it has some."""
        source, *draft = line.split("\t")
        terms = self.terms.get(source)
        if not terms:
            return line
        if draft:
            raise UserError(
                f"--terms has terms of {source!r:.40}; mark them in its draft, [+term+]"
            )
        return f"{source}\t{terms}"

    def build_dataset_for_inference(
        self,
        src_tokens: Sequence[Tensor | EncodedLine],
        src_lengths: Sequence[int],
        constraints: Tensor | None = None,
    ) -> EditDataset:
        """Returns data of sources, or of (source, draft) pairs as interactive reads them."""
        bos = torch.tensor([self.src_dict.bos()])
        sources = []
        drafts = []
        for source, draft in map(as_pair, src_tokens):
            if source[0] != bos:
                source = torch.cat([bos.to(source), source])
            sources.append(source)
            drafts.append(draft or self.encode_draft("", str))
        return EditDataset(
            listed(sources),
            None,
            listed([draft.tokens for draft in drafts]),
            self.src_dict,
            self.tgt_dict,
            marks=[draft.marks for draft in drafts],
            left_pad_source=self.cfg.left_pad_source,
            shuffle=False,
        )

    # training ---------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int, model: nn.Module) -> None:
        self.epoch = epoch

    def train_step(
        self,
        sample: Batch,
        model: nn.Module,
        criterion: FairseqCriterion,
        optimizer: FairseqOptimizer,
        update_num: int,
        ignore_grad: bool = False,
    ) -> tuple[Tensor, int, LogOutput]:
        """Runs fairseq's step on the states that the roll-in has at this moment."""
        time_share = getattr(optimizer, "time_share", None)
        mixture = self.mixture(update_num, time_share)
        sample = self.with_states(sample, self.epoch, mixture)
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    def valid_step(
        self, sample: Batch, model: nn.Module, criterion: FairseqCriterion
    ) -> tuple[Tensor, int, LogOutput]:
        # epoch 0: the same states at every validation, so that losses can be compared
        return super().valid_step(self.with_states(sample, 0), model, criterion)

    def mixture(
        self, update: int | None = None, time_share: float | None = None
    ) -> tuple[float, float]:
        """Returns α and β at an update, or after a share of the time; by default at the end."""
        cfg = self.cfg
        duration = cfg.roll_in_updates
        done = time_share if 0 < duration < 1 else update
        moved = done / duration if done is not None and done < duration else 1.0
        ways = (cfg.alpha_start, cfg.alpha), (cfg.beta_start, cfg.beta)
        alpha, beta = (
            end if start is None else start + moved * (end - start) for start, end in ways
        )
        return alpha, beta

    def with_states(
        self, sample: Batch, epoch: int, mixture: tuple[float, float] | None = None
    ) -> TrainingBatch:
        """Returns a batch with its ``states``; ``mixture``: α and β, by default the final ones."""
        shares = mixture or self.mixture()
        states = make_states(sample, epoch, shares, self.cfg, self.symbols, self.frequencies)
        return {**sample, "states": states}

    # models, decoding and checkpoints -----------------------------------------------------------

    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False) -> BaseFairseqModel:
        """Builds the model, stock's in our form; refuses those that do not edit."""
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        edits = is_edit_model(ARCH_MODEL_REGISTRY.get(name))
        if from_checkpoint and str(name).startswith("levenshtein_transformer"):
            cfg = OmegaConf.structured(editor_config(cfg))
        elif from_checkpoint and self.edits and not edits:  # after an edit model: a re-ranker
            plain = copy.copy(self)  # with the dictionaries that other tasks know
            sides = self.src_dict, self.tgt_dict
            plain.src_dict, plain.tgt_dict = map(without_placeholder, sides)
            return FairseqTask.build_model(plain, cfg, from_checkpoint)
        elif not edits:
            raise UserError(
                f"{name} is not an edit model: --task translation_edit needs --arch "
                "levenshtein_editor, or a checkpoint of it or of a levenshtein_transformer"
            )
        elif from_checkpoint:  # of an earlier version: what has come since is at its default
            cfg = merge_with_parent(LevenshteinEditorConfig(), cfg, True)
        self.edits = True
        return super().build_model(cfg, from_checkpoint)

    def build_criterion(self, cfg: FairseqDataclass) -> FairseqCriterion:
        """Builds the criterion; refuses fairseq's, which know no roll-in."""
        name = getattr(cfg, "_name", None)
        if getattr(CRITERION_REGISTRY.get(name), "__module__", "").startswith("fairseq."):
            raise UserError(
                f"--criterion {name}: --task translation_edit needs --criterion edit_policy_loss"
            )
        return super().build_criterion(cfg)

    @property
    def delete_threshold(self) -> float:
        """Returns the threshold that the model brings with it, wherever it decodes."""
        return delete_threshold(self.cfg)

    def build_generator(
        self, models: Sequence[nn.Module], args: Namespace, *others: Any, **kwargs: Any
    ) -> RefinementGenerator:
        """Builds the generator that fairseq's flags and the task's ask for."""
        cfg = self.cfg
        kind = RefinementGenerator
        more: dict[str, Any] = {}
        if cfg.stock_decoding:
            kind = StockGenerator
            # fairseq's loop runs one iteration more than it is asked for
            more["max_iter"] = getattr(args, "iter_decode_max_iter", 10) + 1
        return kind(self.tgt_dict, self.placeholder, RefinementOptions.of(cfg, args, **more))

    def inference_step(
        self,
        generator: RefinementGenerator,
        models: Sequence[Any],
        sample: Batch,
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
    ) -> Sequence[Sequence[Hypothesis]]:
        """Decodes; ``constraints``: drafts and marks (B × 2 × N) in interactive."""
        if prefix_tokens is not None:
            raise UserError("--prefix-size is not supported by edit models; give a draft instead")
        if constraints is not None:
            sample = {**sample, "draft": constraints[:, 0], "marks": constraints[:, 1]}
        with torch.no_grad():
            return generator.generate(models, sample)
