"""The task: prepared data in, rows of examples out, metrics of what was predicted."""

import functools
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from fairseq.criterions import FairseqCriterion
from fairseq.logging import metrics as log
from fairseq.logging.meters import MetersDict
from fairseq.models import ARCH_MODEL_REGISTRY, BaseFairseqModel
from fairseq.tasks import FairseqTask, register_task
from omegaconf import DictConfig
from torch import Tensor

from ...errors import UserError
from ...io.program import running_command
from .baselines import linear_score, usual_score
from .config import EncT5TaskConfig
from .criterion import CRITERION
from .dataset import EncT5Dataset, read_column
from .metadata import LABELS, PIECES, SPANS, Metadata
from .metrics import (
    PREFIX,
    Statistics,
    entity_statistics,
    label_groups,
    marks_entities,
    statistics,
    summary,
)
from .model import EncT5Model
from .problem_types import ProblemType

logger = logging.getLogger(__name__)

TASK = "enct5"
PREPARE = "lev-enct5-prepare"
#: of which less is better; the threshold is neither good nor bad
LESS = ("loss", "mse")
NEITHER = "threshold"


@register_task(TASK, dataclass=EncT5TaskConfig)
class EncT5Task(FairseqTask):
    """Classification, regression, multi-label classification and tagging with EncT5.

    A checkpoint keeps the description of its data, and for several labels the threshold that
    the last validation found best, on the first set of ``--valid-subset``.

    Raises:
        UserError: settings that do not suit the data.
    """

    cfg: EncT5TaskConfig

    def __init__(self, cfg: EncT5TaskConfig, metadata: Metadata) -> None:
        super().__init__(cfg)
        self.metadata = metadata
        self.kind = ProblemType(cfg.kind or metadata.kind)
        #: labels or classes; 1 for values
        self.number = max(len(metadata.labels), 1)
        self._check()
        self.groups = label_groups(metadata.counts) if self.kind.many and metadata.counts else {}
        self.entities = self.kind is ProblemType.TAGGING and marks_entities(metadata.labels)
        no_scores, nothing = torch.zeros(0, self.number), self.kind.targets([], self.number)
        none = self.statistics(no_scores, nothing, {"sentences": []})
        self.metric_names = list(summary(self.kind, none))
        self.state.merge_state_dict({"description": asdict(metadata), NEITHER: 0.5})
        self.trains = False
        self.first_subset = False

    def _check(self) -> None:
        cfg, most = self.cfg, self.cfg.max_target_positions
        if cfg.pack_length and not (cfg.pack and 0 < cfg.pack_length <= cfg.max_source_positions):
            raise UserError(
                f"--pack-length {cfg.pack_length}: give it with --pack, and a number from 1 to "
                f"--max-source-positions {cfg.max_source_positions}"
            )
        prepared = ProblemType(self.metadata.kind)
        if self.kind is not prepared and not (self.kind.many and prepared.many):
            raise UserError(f"--kind {self.kind.value}: data were prepared for {prepared.value}")
        if self.kind is ProblemType.MULTILABEL and self.number > most:
            raise UserError(
                f"{self.number} labels are more than --max-target-positions {most}; raise it, or "
                "give --kind multilabel_pooled"
            )

    @classmethod
    def setup_task(cls, cfg: EncT5TaskConfig, **kwargs: object) -> "EncT5Task":
        """Reads what the data folder holds; raises :class:`UserError` where that is nothing, and
        for a command that writes text.
        """
        if running_command() in ("generate", "interactive"):
            raise UserError("fairseq-generate writes text, and EncT5 writes none; use lev-predict")
        if not cfg.data:
            raise UserError(f"no data folder given; name the one that {PREPARE} made")
        return cls(cfg, Metadata.read(cfg.data))

    @property
    def threshold(self) -> float:
        """A label holds where its score is above this; best in the last validation, first 0.5."""
        return float(self.state.threshold)

    def build_model(self, cfg: DictConfig, from_checkpoint: bool = False) -> BaseFairseqModel:
        """Builds the model; raises :class:`UserError` for another one, and where a training is to
        select by a metric that validation does not give.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        found = ARCH_MODEL_REGISTRY.get(name)
        if found is not None and not issubclass(found, EncT5Model):
            raise UserError(f"--arch {name} is no EncT5; --task {TASK} goes with --arch enct5_…")
        self.trains = not from_checkpoint
        if self.trains:
            self._check_best_metric(self.cfg.best_checkpoint_metric)
        return super().build_model(cfg, from_checkpoint)

    def build_criterion(self, cfg: DictConfig, from_checkpoint: bool = False) -> FairseqCriterion:
        """Builds the criterion; raises :class:`UserError` for another one."""
        name = getattr(cfg, "_name", None) or CRITERION
        if name != CRITERION:
            raise UserError(f"--criterion {name}: --task {TASK} goes with --criterion {CRITERION}")
        return super().build_criterion(cfg, from_checkpoint)

    def _check_best_metric(self, best: str) -> None:
        if best.startswith("${"):  # outside of a command
            return
        known = ["loss", *(name for name in self.metric_names if name != NEITHER)]
        if best not in known:
            raise UserError(
                f"--best-checkpoint-metric {best}: validation of {self.kind.value} gives "
                f"{', '.join(known)}"
            )
        if (best not in LESS) != bool(self.cfg.maximize_best_checkpoint_metric):
            way = "lower is better; leave out" if best in LESS else "higher is better; give"
            flag = "--maximize-best-checkpoint-metric"
            raise UserError(f"--best-checkpoint-metric {best}: {way} {flag}")

    def begin_from(
        self, model: BaseFairseqModel, state: dict[str, Any], path: str, finetuned: bool
    ) -> None:
        """Called before a training begins with a checkpoint, that of ``--finetune-from-model`` if
        ``finetuned``: takes over what that keeps. What belongs to other labels in its ``state``
        becomes the model's own; other subwords, or other labels to resume with, raise UserError.
        """
        here, kept = self.metadata, Metadata.of(state.get("task_state"), path)
        theirs, own = state["model"], model.state_dict()
        same = kept.kind == here.kind and kept.labels == here.labels
        # multilabel and multilabel_pooled take the same data
        if not finetuned or (same and theirs["head.weight"].shape == own["head.weight"].shape):
            self._take_over(state["task_state"], path, () if finetuned else ("texts",))
            return
        here.check_same(kept, str(self.cfg.data), "pieces")
        logger.info(
            "the checkpoint was trained for other labels or another --kind: encoder and decoder "
            "blocks begin with its parameters, the output layer with random ones"
        )
        # a latent of its own for each label, or one for all
        latents = max(len(one["decoder.table.weight"]) for one in (theirs, own)) > 1
        anew = ("head.", "decoder.table.") if latents else ("head.",)
        theirs.update({name: one for name, one in own.items() if name.startswith(anew)})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what a checkpoint keeps; other labels or subwords, or two texts for one, raise
        UserError."""
        self._take_over(state_dict, "the checkpoint", ("texts",))

    def _take_over(self, state_dict: dict[str, Any], where: str, also: Sequence[str]) -> None:
        kept = Metadata.of(state_dict, where)
        self.metadata.check_same(kept, str(self.cfg.data), "kind", "labels", "pieces", *also)
        self.state.merge_state_dict({NEITHER: float(state_dict[NEITHER])})

    def load_dataset(self, split: str, combine: bool = False, **kwargs: object) -> None:
        """Loads a split; raises :class:`UserError` where there is none."""
        prefix = os.path.join(self.cfg.data or "", split)
        if not os.path.isfile(f"{prefix}.{PIECES}.idx"):
            raise UserError(
                f"{self.cfg.data} has no {split} data ({split}.{PIECES}.idx is missing); name "
                f"another split, or prepare it with {PREPARE}"
            )
        names = [PIECES, LABELS, *([SPANS] if self.kind is ProblemType.TAGGING else [])]
        columns = {name: read_column(f"{prefix}.{name}") for name in names}
        training = split in ("train", self.cfg.train_subset)
        row = self.cfg.pack_length or self.cfg.max_source_positions
        packs = training and self.cfg.pack
        self.datasets[split] = EncT5Dataset(
            columns[PIECES],
            columns.get(SPANS),
            columns[LABELS],
            self.kind,
            self.number,
            limits=(row, self.cfg.max_target_positions) if packs else None,
            shuffle=training,
        )
        if not training and self.metadata.counts:
            self._log_baselines(split, columns[PIECES], columns[LABELS])

    def _log_baselines(
        self, split: str, pieces: Sequence[Tensor], labels: Sequence[Tensor]
    ) -> None:
        """What scores a set without EncT5: the most frequent label, and before a training a line
        of what a linear model learns from the subwords."""
        name, counts = self.metric_names[0], self.metadata.counts
        usual = counts.index(max(counts))
        score, label = usual_score(self.kind, usual, labels), self.metadata.labels[usual]
        logger.info("%s: always %s, the most frequent label: %s %.2f", split, label, name, score)
        prefix = os.path.join(self.cfg.data or "", "train")
        if self.trains and self.kind is not ProblemType.TAGGING:
            train = read_column(f"{prefix}.{PIECES}"), read_column(f"{prefix}.{LABELS}")
            found = linear_score(self.kind, self.number, train, (pieces, labels))
            if found is not None:
                logger.info("%s: a linear model of the subwords: %s %.2f", split, name, found)

    def max_positions(self) -> tuple[int, int]:
        """Most subwords and decoder positions in a row."""
        return self.cfg.max_source_positions, self.cfg.max_target_positions

    def filter_indices_by_size(
        self,
        indices: np.ndarray,
        dataset: EncT5Dataset,
        max_positions: tuple[int, int],
        ignore_invalid_inputs: bool = False,
    ) -> np.ndarray:
        """What is not too long; a training leaves out nothing, but raises :class:`UserError`."""
        long = (dataset.sizes[indices] > np.asarray(max_positions)).any(1)
        if long.any() and (dataset.shuffle or not ignore_invalid_inputs):
            row = int(indices[long].min())
            size = tuple(dataset.sizes[row].tolist())
            raise UserError(
                f"example {dataset.rows[row][0] + 1} is too long: its row has {size} subwords and "
                f"decoder positions where {tuple(max_positions)} are allowed; raise --max-tokens, "
                "--max-source-positions or --max-target-positions, lower --pack-length, or prepare "
                "the data with a smaller --max-length"
            )
        if long.any():
            logger.warning("%d examples are too long and skipped", long.sum())
        return indices[~long]

    def begin_valid_epoch(self, epoch: int, model: BaseFairseqModel) -> None:
        """The set that is validated next is the first of ``--valid-subset``."""
        self.first_subset = True
        # where fairseq adds up all validations: sums of other labels could not be added to
        log.reset_meters("valid")

    def post_validate(self, model: BaseFairseqModel, stats: Mapping[str, Any], agg: object) -> None:
        """Keeps the threshold that is best on the first set, before a checkpoint is saved."""
        if self.first_subset and NEITHER in stats:
            self.state.merge_state_dict({NEITHER: float(stats[NEITHER])})
        self.first_subset = False

    def statistics(self, scores: Tensor, targets: Tensor, sample: Mapping[str, Any]) -> Statistics:
        """What a validation batch adds to the metrics."""
        sentences, span = sample["sentences"], (self.metadata.low, self.metadata.high)
        cut = sum(len(tags) - reached for tags, reached in sentences)
        sums = statistics(self.kind, scores, targets, cut, self.groups, span)
        if self.entities:
            labels, found = self.metadata.labels, scores.argmax(-1)
            sums.update(entity_statistics(labels, found, sentences))
        return sums

    def reduce_metrics(
        self, logging_outputs: list[Mapping[str, Any]], criterion: FairseqCriterion
    ) -> None:
        """Logs the metrics of all batches of all workers so far, of validation only."""
        super().reduce_metrics(logging_outputs, criterion)
        first: Mapping[str, Any] = next(iter(logging_outputs), {})
        names = [name for name in first if name.startswith(PREFIX)]
        for name in names:  # the meters add them up
            value = sum(one[name] for one in logging_outputs)
            log.log_scalar(name, torch.as_tensor(value, dtype=torch.double))
        for name in self.metric_names if names else ():
            log.log_derived(name, functools.partial(self._metric, name))

    def _metric(self, name: str, meters: MetersDict) -> float:
        """A metric as fairseq prints it, to six digits.

        Only the set that a training selects by may choose the threshold that it is scored with.
        """
        sums: Statistics = {}
        for one in meters:
            if one.startswith(PREFIX):
                value = torch.as_tensor(meters[one].sum)
                sums[one.removeprefix(PREFIX)] = value if value.dim() else value.item()
        found = summary(self.kind, sums, None if self.first_subset else self.threshold)
        return float(f"{found[name]:.6g}")
