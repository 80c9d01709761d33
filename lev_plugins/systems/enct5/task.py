"""The task: prepared data in, rows of examples out, metrics of what was predicted."""

import functools
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NoReturn

import numpy as np
import torch
from fairseq.criterions import FairseqCriterion
from fairseq.data import ConcatDataset, EpochBatchIterator, FairseqDataset
from fairseq.logging import metrics as log
from fairseq.logging.meters import MetersDict
from fairseq.models import ARCH_MODEL_REGISTRY, BaseFairseqModel
from fairseq.tasks import FairseqTask, register_task
from omegaconf import DictConfig
from torch import Tensor

from ...errors import UserError
from ...io.program import running_command
from . import metrics
from .binarized import BinarizedSplit
from .config import strip_pretrained
from .criterion import CRITERION
from .dataset import EncT5Dataset
from .entities import entity_statistics, marks_entities
from .metadata import PIECES, Metadata
from .metrics import PREFIX, Statistics, label_groups, names, statistics, summary
from .model import EncT5Model
from .problem_types import ProblemType
from .starting import anew_for, check_resumed_kind, description, starting_state
from .task_config import EncT5TaskConfig, problem_type, resolved
from .tokenizer import SubwordDictionary

logger = logging.getLogger(__name__)

TASK = "enct5"
SUMS = "_statistics"
PREDICT = "lev-predict"
PREPARE = "lev-enct5-prepare"
#: of which less is better; the threshold is neither good nor bad
LESS = ("loss", "mse")
NEITHER = "threshold"


@register_task(TASK, dataclass=EncT5TaskConfig)
class EncT5Task(FairseqTask):
    """Classification, regression, multi-label classification and tagging with EncT5.

    A checkpoint keeps the description of its data, and for several labels the threshold that
    the last validation found best, on the first set of ``--valid-subset``.

    Args:
        cfg: settings.
        metadata: of the data.

    Raises:
        UserError: settings that do not suit the data.
    """

    cfg: EncT5TaskConfig

    def __init__(self, cfg: EncT5TaskConfig, metadata: Metadata) -> None:
        super().__init__(cfg)
        self.metadata = metadata
        self.kind = problem_type(cfg.kind or metadata.kind)
        self.dictionary = SubwordDictionary(metadata.pieces)
        self._check()
        self.groups: dict[str, Tensor] | None = None
        if self.kind.many and metadata.counts:
            self.groups = label_groups(metadata.counts)
        self.entities = self.kind is ProblemType.TAGGING and marks_entities(metadata.labels)
        self.metric_names = names(self.kind, self.number, self.groups, self.entities)
        self.state.merge_state_dict({"description": asdict(metadata), "threshold": 0.5})
        self.trains = False
        self.first_subset = False
        self.summed: tuple[Tensor | None, dict[str, float]] = (None, {})

    def _check(self) -> None:
        cfg, where = self.cfg, self.cfg.data or "the checkpoint"
        if cfg.pack_length and not cfg.pack:
            raise UserError(f"--pack-length {cfg.pack_length}: give it with --pack")
        if not 0 <= cfg.pack_length <= cfg.max_source_positions:
            raise UserError(
                f"--pack-length {cfg.pack_length}: give a number from 1 to "
                f"--max-source-positions {cfg.max_source_positions}"
            )
        prepared, most = ProblemType(self.metadata.kind), cfg.max_target_positions
        if self.kind is not prepared and not (self.kind.many and prepared.many):
            raise UserError(f"--kind {self.kind.value}: {where} was prepared for {prepared.value}")
        if self.kind is ProblemType.MULTILABEL and self.number > most:
            raise UserError(
                f"{self.number} labels are more than --max-target-positions {most}; raise it, or "
                "give --kind multilabel_pooled"
            )
        if self.dictionary.symbols != self.metadata.pieces:
            raise UserError(f"{where}: the subwords are not T5's, or one is there twice")

    @classmethod
    def setup_task(cls, cfg: EncT5TaskConfig, **kwargs: object) -> "EncT5Task":
        """Reads what the data folder holds.

        Raises:
            UserError: nothing that was prepared, or a command that writes text.
        """
        command = running_command()
        if command in ("generate", "interactive"):
            raise UserError(f"fairseq-{command} writes text, and EncT5 writes none; use {PREDICT}")
        if not cfg.data:
            raise UserError(f"no data folder given; name the one that {PREPARE} made")
        return cls(cfg, Metadata.read(cfg.data))

    @property
    def number(self) -> int:
        """Labels or classes; 1 for values."""
        return max(len(self.metadata.labels), 1)

    @property
    def threshold(self) -> float:
        """A label holds where its score is above this; best in the last validation, first 0.5."""
        return float(self.state.threshold)

    @property
    def source_dictionary(self) -> SubwordDictionary:
        """T5's pieces."""
        return self.dictionary

    @property
    def target_dictionary(self) -> None:
        """None: nothing is written."""
        return None

    @classmethod
    def load_dictionary(cls, filename: str) -> SubwordDictionary:
        """A dictionary's file, with T5's special subwords in front."""
        dictionary = SubwordDictionary()
        dictionary.add_from_file(filename)
        return dictionary

    # model and checkpoint ---------------------------------------------------------------------

    def build_model(self, cfg: DictConfig, from_checkpoint: bool = False) -> BaseFairseqModel:
        """Builds the model.

        Raises:
            UserError: it is not an EncT5.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        found = ARCH_MODEL_REGISTRY.get(name)
        if found is not None and not issubclass(found, EncT5Model):
            raise UserError(f"--arch {name} is no EncT5; --task {TASK} goes with --arch enct5_…")
        self.trains = not from_checkpoint
        model = super().build_model(strip_pretrained(cfg) if from_checkpoint else cfg)
        if self.trains:
            model.begins_anew = self.restore_task_state()
        return model

    def build_criterion(self, cfg: DictConfig, from_checkpoint: bool = False) -> FairseqCriterion:
        """Builds the criterion; what a training begins with and selects by is checked here too.

        Raises:
            UserError: another criterion, a metric that validation does not give, or a checkpoint
                of other data.
        """
        name = getattr(cfg, "_name", None) or CRITERION
        if name != CRITERION:
            raise UserError(f"--criterion {name}: --task {TASK} goes with --criterion {CRITERION}")
        if self.trains:
            self._check_best_metric()
        return super().build_criterion(cfg, from_checkpoint)

    def _check_best_metric(self) -> None:
        best = resolved(self.cfg.best_checkpoint_metric)
        if best is None:
            return
        known = ["loss", *(name for name in self.metric_names if name != NEITHER)]
        if best not in known:
            raise UserError(
                f"--best-checkpoint-metric {best}: validation of {self.kind.value} gives "
                f"{', '.join(known)}"
            )
        flag = "--maximize-best-checkpoint-metric"
        if (best not in LESS) != bool(self.cfg.maximize_best_checkpoint_metric):
            way = f"higher is better; give {flag}"
            if best in LESS:
                way = f"lower is better; leave {flag} out"
            raise UserError(f"--best-checkpoint-metric {best}: {way}")

    def restore_task_state(self) -> tuple[str, ...]:
        """Takes over what the checkpoint keeps with which a training begins.

        fairseq's trainer saves the state of a task and does not give it back.

        Returns:
            Prefixes of the parameters that the checkpoint has for other labels: those begin anew.

        Raises:
            UserError: it was trained on other subwords, or on other labels and is resumed.
        """
        kept, finetuned = starting_state(self.cfg)
        if kept is None:
            return ()
        anew: tuple[str, ...] = ()
        if finetuned:
            anew = anew_for(self.metadata, self.kind, kept, str(self.cfg.data))
        if not anew:
            self.load_state_dict(kept)
            check_resumed_kind(self.kind, kept)
        return anew

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what a checkpoint keeps.

        Raises:
            UserError: it was trained on other labels or subwords, or holds something else.
        """
        self.metadata.check_same(description(state_dict), str(self.cfg.data))
        threshold = state_dict.get("threshold")
        if not isinstance(threshold, float) or not 0 <= threshold <= 1:
            raise UserError(f"the checkpoint's threshold is {threshold!r}, no number from 0 to 1")
        self.state.merge_state_dict({"threshold": threshold})

    # data -------------------------------------------------------------------------------------

    def load_dataset(self, split: str, combine: bool = False, **kwargs: object) -> None:
        """Loads a split; with ``combine`` together with its further parts (valid1, valid2 …).

        Raises:
            UserError: there is none, or it is damaged.
        """
        prefixes = [os.path.join(self.cfg.data or "", split)]
        while combine and os.path.isfile(f"{prefixes[0]}{len(prefixes)}.{PIECES}.idx"):
            prefixes.append(f"{prefixes[0]}{len(prefixes)}")
        if not os.path.isfile(f"{prefixes[0]}.{PIECES}.idx"):
            known = split if split in ("train", "valid", "test") else "valid or --test"
            raise UserError(
                f"{self.cfg.data} has no {split} data ({split}.{PIECES}.idx is missing); name "
                f"another split, or prepare it with {PREPARE} --{known} FILE"
            )
        stored = [
            BinarizedSplit(
                prefix, self.kind, self.number, len(self.dictionary), *self.metadata.limits()
            )
            for prefix in prefixes
        ]
        training = split in ("train", resolved(self.cfg.train_subset))
        self.datasets[split] = EncT5Dataset(
            _joined([one.pieces for one in stored]),
            _joined([one.spans for one in stored]) if self.kind is ProblemType.TAGGING else None,
            _joined([one.labels for one in stored]),
            self.kind,
            self.number,
            row=self._packed_row() if training else None,
            most=self.cfg.max_target_positions,
            shuffle=training,
        )

    def _packed_row(self) -> int | None:
        """Most subwords in a row of several examples, None without packing."""
        return (self.cfg.pack_length or self.cfg.max_source_positions) if self.cfg.pack else None

    def max_positions(self) -> tuple[int, int]:
        """Most subwords and decoder positions in a row."""
        return self.cfg.max_source_positions, self.cfg.max_target_positions

    def get_batch_iterator(
        self,
        dataset: FairseqDataset,
        *args: object,
        max_tokens: int | None = None,
        max_positions: tuple[int, int] | None = None,
        **options: object,
    ) -> EpochBatchIterator:
        """fairseq's; what is longer than a batch may be is told in validation too.

        There fairseq fails an assertion.
        """
        if max_tokens is not None:
            given = (max_tokens, max_tokens) if max_positions is None else max_positions
            max_positions = min(given[0], max_tokens), min(given[1], max_tokens)
        return super().get_batch_iterator(
            dataset, *args, max_tokens=max_tokens, max_positions=max_positions, **options
        )

    def filter_indices_by_size(
        self,
        indices: np.ndarray,
        dataset: EncT5Dataset,
        max_positions: tuple[int, int],
        ignore_invalid_inputs: bool = False,
    ) -> np.ndarray:
        """Leaves out nothing in training, and in validation only what is to be skipped.

        Raises:
            UserError: a row is too long.
        """
        long = (dataset.sizes[indices] > np.asarray(max_positions)).any(1)
        if not long.any():
            return indices
        rows = sorted(int(row) for row in indices[long])
        split = next((name for name, one in self.datasets.items() if one is dataset), "data")
        pieces, latents = dataset.size(rows[0])
        most, most_latents = max_positions
        size = (
            f"{pieces} subwords and {latents} decoder positions where {most} and "
            f"{most_latents} are "
            "allowed"
        )
        if len(dataset.rows[rows[0]]) > 1:
            less = [f"--pack-length {most}"] if pieces > most else []
            less += [f"--max-target-positions {most_latents}"] if latents > most_latents else []
            raise UserError(
                f"{split}: a packed row has {size}; raise --max-tokens, or give {' '.join(less)}"
            )
        shown = ", ".join(str(dataset.rows[row][0] + 1) for row in rows[:20])
        shown += " …" if len(rows) > 20 else ""
        if ignore_invalid_inputs and not dataset.shuffle:
            logger.warning("%s: %d examples are too long and skipped: %s", split, len(rows), shown)
            return indices[~long]
        raise UserError(
            f"{split}: {len(rows)} examples are too long ({shown}); number "
            f"{dataset.rows[rows[0]][0] + 1} has {size}; raise --max-source-positions, "
            "--max-target-positions or --max-tokens, or prepare the data with a smaller "
            "--max-length"
        )

    # metrics ----------------------------------------------------------------------------------

    def begin_valid_epoch(self, epoch: int, model: BaseFairseqModel) -> None:
        """The set that is validated next is the first of ``--valid-subset``."""
        self.first_subset = True
        # fairseq adds up all validations of a training there, and keeps that in checkpoints:
        # sums of what an older version counted could not be added to
        log.reset_meters("valid")

    def post_validate(self, model: BaseFairseqModel, stats: Mapping[str, Any], agg: object) -> None:
        """Keeps the threshold that is best on the first set, before a checkpoint is saved."""
        if self.first_subset and NEITHER in stats:
            self.state.merge_state_dict({NEITHER: float(stats[NEITHER])})
        self.first_subset = False

    def statistics(self, scores: Tensor, targets: Tensor, sample: Mapping[str, Any]) -> Statistics:
        """What a validation batch adds to the metrics."""
        span = self.metadata.low, self.metadata.high
        sums = statistics(self.kind, scores, targets, sample["cut"], self.groups, span)
        if self.entities:
            labels, found = self.metadata.labels, scores.argmax(-1)
            sums.update(entity_statistics(labels, found, sample["sentences"]))
        if self.kind.many and running_command() == "validate":
            sums.update(metrics.label_counts(scores > self.threshold, targets.bool()))
        return sums

    def reduce_metrics(
        self, logging_outputs: list[Mapping[str, Any]], criterion: FairseqCriterion
    ) -> None:
        """Logs the metrics of all batches of all workers so far, of validation only."""
        super().reduce_metrics(logging_outputs, criterion)
        first: Mapping[str, Any] = next(iter(logging_outputs), {})
        keys = [key for key in first if key.startswith(PREFIX)]
        if not keys:
            return
        sums = [sum(float(one[key]) for one in logging_outputs) for key in keys]
        log.log_scalar(SUMS, torch.tensor(sums, dtype=torch.double))  # the meter adds them up
        counted = [key.removeprefix(PREFIX) for key in keys]
        for name in self.metric_names:
            log.log_derived(name, functools.partial(self._metric, name, counted))
        if self.metadata.labels and running_command() == "validate":
            table = metrics.label_table(dict(zip(counted, sums)), self.metadata.labels)
            logger.info("scores of each label:\n%s", table)

    def _metric(self, name: str, counted: Sequence[str], meters: MetersDict) -> float:
        """A metric as fairseq prints it, to six digits.

        Only the set that a training selects by may choose the threshold that it is scored with.
        """
        sums = meters[SUMS].sum
        if self.summed[0] is not sums:  # for all names one after the other
            threshold = None if self.first_subset else self.threshold
            self.summed = sums, summary(self.kind, dict(zip(counted, sums.tolist())), threshold)
        return float(f"{self.summed[1][name]:.6g}")

    # what this task does not do ---------------------------------------------------------------

    def build_generator(self, *args: object, **options: object) -> NoReturn:
        """Nothing is generated.

        Raises:
            UserError: always.
        """
        raise UserError(f"EncT5 writes no text; {PREDICT} prints its predictions")


def _joined(parts: Sequence[FairseqDataset]) -> FairseqDataset:
    return parts[0] if len(parts) == 1 else ConcatDataset(parts)
