"""Task ``translation_edit``: from a source, and a draft where there is one, to a target."""

import copy
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

import torch
from fairseq.criterions import CRITERION_REGISTRY, FairseqCriterion
from fairseq.data import Dictionary, FairseqDataset, PrependTokenDataset, data_utils
from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.utils import merge_with_parent
from fairseq.models import ARCH_MODEL_REGISTRY, BaseFairseqModel
from fairseq.optim import FairseqOptimizer
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks import FairseqTask, register_task
from omegaconf import OmegaConf
from torch import Tensor, nn

from ...data.batch import Batch, Hypothesis, LogOutput
from ...data.edit_dataset import EditDataset
from ...errors import UserError
from ...tasks.post_editing import PLACEHOLDER, without_placeholder
from .config import LevenshteinEditorConfig, TranslationEditConfig
from .decoding import RefinementGenerator, RefinementOptions
from .decoding.policy import is_edit_model
from .drafts import Draft, DraftEncoding
from .roll_in import RollInOptions, TrainingBatch, build_roll_in
from .stock import STOCK_ARCHS, editor_config

Generator: TypeAlias = RefinementGenerator | SequenceGenerator


# a source and, where the line has one, its draft
EncodedLine = tuple[Tensor, Draft | None]


@register_task("translation_edit", dataclass=TranslationEditConfig)
class TranslationEditTask(DraftEncoding):
    """Generation and post-editing by insertion and deletion.

    fairseq's translation data, with ``train.src-tgt.DRAFT`` beside them where ``--draft-lang``
    names drafts. The target dictionary gets one symbol more, the placeholder ``<plh>``.
    """

    cfg: TranslationEditConfig

    def __init__(
        self, cfg: TranslationEditConfig, src_dict: Dictionary, tgt_dict: Dictionary
    ) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        for dictionary in {id(d): d for d in (src_dict, tgt_dict)}.values():
            dictionary.add_symbol(PLACEHOLDER)
        self.placeholder = tgt_dict.index(PLACEHOLDER)
        self.epoch = 1
        self.edits = False  # whether the model built last is an edit model
        # how often a word is met, for random roll-in; dictionaries of checkpoints know it of none
        self.frequencies = torch.tensor(tgt_dict.count[: len(tgt_dict)], dtype=torch.double)

    @classmethod
    def setup_task(cls, cfg: TranslationEditConfig, **kwargs: object) -> Self:
        """Loads the dictionaries.

        Raises:
            UserError: a value out of range, or what the base class refuses.
        """
        for name in ("alpha", "beta", "alpha_start", "beta_start", "delete_threshold"):
            value = getattr(cfg, name)
            if value is not None and not 0 <= value <= 1:
                flag = "--" + name.replace("_", "-")
                raise UserError(f"{flag} {value} is outside [0, 1]; give a share between 0 and 1")
        return super().setup_task(cfg, **kwargs)

    # data -------------------------------------------------------------------------------------

    def make_dataset(
        self,
        source: FairseqDataset,
        target: FairseqDataset | None,
        draft: FairseqDataset | None,
        shuffle: bool,
    ) -> EditDataset:
        """Every side with <s> in front."""
        source, target, draft = (
            None if side is None else PrependTokenDataset(side, self.tgt_dict.bos())
            for side in (source, target, draft)
        )
        return EditDataset(
            source,
            source.sizes,
            self.src_dict,
            target,
            None if target is None else target.sizes,
            self.tgt_dict,
            draft=draft,
            draft_sizes=None if draft is None else draft.sizes,
            left_pad_source=self.cfg.left_pad_source,
            left_pad_target=False,
            shuffle=shuffle,
            pad_to_multiple=self.cfg.required_seq_len_multiple,
        )

    # interactive and Python -------------------------------------------------------------------

    def get_interactive_tokens_and_lengths(
        self, lines: list[str], encode_fn: Callable[[str], str]
    ) -> tuple[list[EncodedLine], list[int]]:
        """Reads ``source`` or ``source<TAB>draft``, with marks on the draft if the task has them.

        Raises:
            UserError: a line with more than one tab, or marks that cannot be read.
        """
        return self.encode_lines(
            lines, encode_fn, lambda draft: self.encode_draft(draft, encode_fn)
        )

    def build_dataset_for_inference(
        self,
        src_tokens: Sequence[Tensor | EncodedLine],
        src_lengths: Sequence[int],
        constraints: Tensor | None = None,
    ) -> EditDataset:
        """Data of sources, or of (source, draft) pairs as interactive reads them.

        Args:
            constraints: terms as fairseq-interactive packs them under ``--constraints``.

        Raises:
            UserError: a term that is empty or has a word that is not known.
        """
        bos = torch.tensor([self.src_dict.bos()])
        empty = torch.tensor([bos, self.tgt_dict.eos()])
        sources, drafts = [], []
        for item in src_tokens:
            source, draft = item if isinstance(item, tuple) else (item, None)
            sources.append(source if source[0] == bos else torch.cat([bos.to(source), source]))
            drafts.append(Draft(empty, torch.zeros_like(empty)) if draft is None else draft)
        if constraints is not None:  # refused here by their lines, and read in inference_step
            self.encode_packed_terms(constraints)
        return EditDataset(
            sources,
            [len(source) for source in sources],
            self.src_dict,
            tgt_dict=self.tgt_dict,
            draft=[draft.tokens for draft in drafts],
            draft_sizes=[len(draft.tokens) for draft in drafts],
            marks=[draft.marks for draft in drafts] if constraints is None else None,
            constraints=constraints,
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
        """fairseq's step, on the states that the roll-in has for this epoch and moment."""
        mixture = self.mixture(update_num, getattr(optimizer, "time_share", None))
        sample = self.with_roll_in(sample, self.epoch, mixture)
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    def valid_step(
        self, sample: Batch, model: nn.Module, criterion: FairseqCriterion
    ) -> tuple[Tensor, int, LogOutput]:
        # epoch 0: the same states at every validation, so that losses can be compared
        return super().valid_step(self.with_roll_in(sample, 0, self.mixture()), model, criterion)

    def mixture(
        self, update: int | None = None, time_share: float | None = None
    ) -> tuple[float, float]:
        """α and β at an update, or when a share of the time has passed; final values without one.

        Raises:
            UserError: ``--roll-in-updates`` is a share, and no schedule tells the time.
        """
        whole = self.cfg.roll_in_updates
        done: float | None = update
        if 0 < whole < 1 and update is not None:
            if time_share is None:
                raise UserError(
                    f"--roll-in-updates {whole} is a share of the time, which needs "
                    "--lr-scheduler time_budget; with other schedules give a number of updates"
                )
            done = time_share
        moved = done / whole if done is not None and done < whole else 1.0

        def at(start: float | None, end: float) -> float:
            return end if start is None else start + moved * (end - start)

        return at(self.cfg.alpha_start, self.cfg.alpha), at(self.cfg.beta_start, self.cfg.beta)

    def with_roll_in(
        self, sample: Batch, epoch: int, mixture: tuple[float, float] | None = None
    ) -> TrainingBatch:
        """A batch with its ``roll_in``; ``mixture`` is α and β, by default the final ones."""
        cfg = self.cfg
        alpha, beta = mixture or self.mixture()
        kept, masking = str(cfg.kept_tokens), str(cfg.token_masking)
        roll_in = build_roll_in(
            sample["target"],
            sample.get("draft"),
            sample["id"],
            epoch,
            RollInOptions(alpha, beta, str(cfg.roll_in_tokens), cfg.seed, kept, masking),
            self.tgt_dict,
            self.placeholder,
            self.frequencies,
        )
        return {**sample, "roll_in": roll_in}

    # models, decoding and checkpoints -----------------------------------------------------------

    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False) -> BaseFairseqModel:
        """Builds the model, that of another project in our form.

        Raises:
            UserError: a checkpoint's that is of another task, or one to train that does not edit.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        edits = is_edit_model(ARCH_MODEL_REGISTRY.get(name))
        if not from_checkpoint and not edits:
            raise UserError(
                f"--arch {name} is no edit model of ours; --task translation_edit goes with "
                "--arch levenshtein_editor"
            )
        if name in STOCK_ARCHS:
            cfg = OmegaConf.structured(editor_config(cfg))
        elif self.edits and not edits:  # behind an edit model: a re-ranker
            return FairseqTask.build_model(self._without_placeholder(), cfg, from_checkpoint)
        elif not edits:
            raise UserError(
                f"the checkpoint holds a model of the kind {name}, which another task has trained; "
                "run it with that task (such as --task translation), or give a checkpoint trained "
                "with --task translation_edit or of a levenshtein_transformer"
            )
        elif from_checkpoint:  # of an earlier version: what has come since is at its default
            cfg = merge_with_parent(LevenshteinEditorConfig(), cfg, True)
        self.edits = True
        return super().build_model(cfg, from_checkpoint)

    def build_criterion(self, cfg: FairseqDataclass) -> FairseqCriterion:
        """Builds the criterion; raises :class:`UserError` for fairseq's, which know no roll-in."""
        name = getattr(cfg, "_name", None)
        if getattr(CRITERION_REGISTRY.get(name), "__module__", "").startswith("fairseq."):
            raise UserError(
                f"--criterion {name}: --task translation_edit goes with "
                "--criterion edit_policy_loss"
            )
        return super().build_criterion(cfg)

    def _without_placeholder(self) -> "TranslationEditTask":
        """This task with the dictionaries that other tasks know."""
        plain = copy.copy(self)
        plain.src_dict = without_placeholder(self.src_dict)
        joined = self.src_dict is self.tgt_dict
        plain.tgt_dict = plain.src_dict if joined else without_placeholder(self.tgt_dict)
        return plain

    def build_generator(
        self, models: Sequence[nn.Module], args: Namespace, *others: Any, **kwargs: Any
    ) -> Generator:
        """Refinement for models with edit policies; fairseq's beam search for any other."""
        if not any(map(is_edit_model, models)):
            return super().build_generator(models, args, *others, **kwargs)
        options = RefinementOptions.from_generation(
            args,
            delete_threshold=0.5 if (given := self.cfg.delete_threshold) is None else given,
            delete_words=self.cfg.delete_words,
            stock=self.cfg.stock_decoding,
            noise_scale=self.cfg.noise_scale,
            seed=self.cfg.seed or 1,
        )
        return RefinementGenerator(self.tgt_dict, self.placeholder, options)

    def inference_step(
        self,
        generator: Generator,
        models: Sequence[Any],
        sample: Batch,
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
    ) -> Sequence[Sequence[Hypothesis]]:
        """``constraints`` carries drafts and marks, or packed terms, in interactive."""
        if not isinstance(generator, RefinementGenerator):
            return super().inference_step(generator, models, sample, prefix_tokens)
        if prefix_tokens is not None:
            raise UserError("--prefix-size is not supported by edit models; give the draft instead")
        if constraints is not None:
            if constraints.dim() == 2:  # packed, as fairseq-interactive prints them
                drafts = self.encode_packed_terms(constraints.cpu())
                pad = self.tgt_dict.pad()
                tokens = data_utils.collate_tokens([draft.tokens for draft in drafts], pad)
                marks = data_utils.collate_tokens([draft.marks for draft in drafts], 0)
                constraints = torch.stack([tokens, marks], 1).to(constraints.device)
            sample = {**sample, "draft": constraints[:, 0], "marks": constraints[:, 1]}
        with torch.no_grad():
            return generator.generate(models, sample)
