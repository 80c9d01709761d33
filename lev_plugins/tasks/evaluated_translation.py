"""The task that others derive from: fairseq's translation, with validation by decoded text.

New to fairseq's translation are metrics of decoded text in validation, and line numbers in
messages.
"""

import logging
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from fairseq import utils
from fairseq.criterions import FairseqCriterion
from fairseq.data import Dictionary, FairseqDataset
from fairseq.dataclass import FairseqDataclass
from fairseq.models import BaseFairseqModel
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from torch import Tensor, nn

from lev_runtime.errors import UserError, counted
from lev_runtime.io.text_files import few

from ..data.batch import Batch, LogOutput, truncate
from ..fairseq_patches.hooks import TrainingHooks
from ..fairseq_patches.small import split_of
from .validation import EvaluationConfig, Validation

# what to do about lines that are too long
WAYS = (
    "raise --max-source-positions, --max-target-positions or --max-tokens as far as the model "
    "reads, give --truncate-source, shorten such lines, or leave them out with "
    "--skip-invalid-size-inputs-valid-test"
)
# most tokens: of a source, or of a source and its target
Limits = None | int | tuple[int, ...]
logger = logging.getLogger(__name__)


class EvaluatedTranslationTask(TranslationTask, TrainingHooks):
    """fairseq's translation; a training is validated by what the model writes."""

    cfg: EvaluationConfig
    size_labels = "source/target"  # of dataset.size(i), for error messages
    missing_dictionary_hint = "run preprocess first"
    lines_before = lines_read = 0  # by interactive, before the present lines and with them
    model_max_source = math.inf  # most source tokens of the models that were loaded
    is_training_run = False  # whether the model built last is to be trained

    def __init__(self, cfg: EvaluationConfig, src_dict: Dictionary, tgt_dict: Dictionary) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        self.validation = Validation(self, self.decoded_text)

    @classmethod
    def setup_task(cls, cfg: EvaluationConfig, **kwargs: object) -> Self:
        """Loads the dictionaries; refuses a folder without them."""
        if cfg.num_batch_buckets > 0:
            raise UserError("--num-batch-buckets fails in fairseq with numpy 2; leave it out")
        if None not in (cfg.source_lang, cfg.target_lang):  # else the folder tells them
            require_dictionaries(cfg, cls.missing_dictionary_hint)
        return super().setup_task(cfg, **kwargs)  # type: ignore[no-any-return]

    # data -------------------------------------------------------------------------------------

    def data_folder(self, split: str, epoch: int) -> str:
        """Returns the folder of a split in an epoch; only training data come in shards."""
        paths = utils.split_paths(self.cfg.data)
        return str(paths[(epoch - 1) % len(paths) if split == self.cfg.train_subset else 0])

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
        limits = _joined(max_positions)
        shown = few(lines)
        if ignore_invalid_inputs and (len(kept) or getattr(dataset, "tgt", None) is None):
            message = "skipped: %s above the limit of %s tokens: %s"
            logger.warning(message, counted(len(lines), "line"), limits, shown)
            return kept
        size = _joined(dataset.size(min(ignored)))
        raise UserError(
            f"{split_of(dataset)}line {lines[0]} has {size} tokens ({self.size_labels}) where the "
            f"limit is {limits}; {counted(len(lines), 'such line')}: {shown}; {WAYS}"
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
        """Adds the statistics of all metrics to the criterion's logging output."""
        # not TranslationTask's own, which would decode for BLEU a second time
        loss, size, logged = super(TranslationTask, self).valid_step(sample, model, criterion)
        return loss, size, {**logged, **self.validation.statistics(sample, model)}

    def reduce_metrics(self, logging_outputs: list[LogOutput], criterion: FairseqCriterion) -> None:
        """Logs what the criterion does, and each metric under its name."""
        # not TranslationTask's own, which logs no BLEU where no n-gram was seen
        super(TranslationTask, self).reduce_metrics(logging_outputs, criterion)
        self.validation.reduce(logging_outputs)

    def decoded_text(self, tokens: Tensor, unknown: str) -> str:
        """Returns decoded text as validation counts it, subwords joined; ``unknown`` for <unk>."""
        bpe = self.cfg.eval_bleu_remove_bpe
        return str(self.tgt_dict.string(tokens.int().cpu(), bpe, unk_string=unknown))

    # interactive and Python -------------------------------------------------------------------

    @property
    def max_source_tokens(self) -> int:
        """Returns the most source tokens that the task and the loaded models read."""
        return int(min(self.cfg.max_source_positions, self.model_max_source))

    def cut_source(self, tokens: Tensor) -> Tensor:
        """Returns a source with its end; ``--truncate-source`` cuts the text."""
        return truncate(tokens, self.max_source_tokens) if self.cfg.truncate_source else tokens

    def count_lines(self, lines: Sequence[str]) -> None:
        """Notes lines that interactive has read, for their numbers in messages."""
        self.lines_before = self.lines_read
        self.lines_read += len(lines)

    def get_interactive_tokens_and_lengths(
        self, lines: list[str], encode_fn: Callable[[str], str]
    ) -> tuple[list[Any], list[int]]:
        """Reads lines as fairseq does; messages count them from the first call."""
        self.count_lines(lines)
        encoded, _ = super().get_interactive_tokens_and_lengths(lines, encode_fn)
        sources = list(map(self.cut_source, encoded))
        return sources, list(map(len, sources))


def require_dictionaries(cfg: TranslationConfig, missing_dictionary_hint: str) -> None:
    """Refuses a data folder without both dictionaries; the hint tells how to make them."""
    folder = utils.split_paths(cfg.data)[:1]
    for lang in (cfg.source_lang, cfg.target_lang):
        path = os.path.join(*folder, f"dict.{lang}.txt")
        if not os.path.isfile(path):
            raise UserError(f"dictionary {path} does not exist; {missing_dictionary_hint}")


def _joined(sizes: Limits) -> str:
    return "/".join(map(str, sizes)) if isinstance(sizes, tuple) else str(sizes)
