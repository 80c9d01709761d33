"""The task: loads prepared data, and validates by the metrics of all predictions."""

import functools
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from fairseq.criterions import FairseqCriterion
from fairseq.logging import metrics as log
from fairseq.logging.meters import MetersDict
from fairseq.models import ARCH_MODEL_REGISTRY, BaseFairseqModel
from fairseq.tasks import FairseqTask, register_task
from omegaconf import DictConfig
from torch import Tensor

from lev_runtime.errors import UserError, counted

from ...fairseq_patches.hooks import Start, TrainingHooks
from ...io.program import running_command
from .config import EncT5TaskConfig
from .criterion import CRITERION, PREDICTIONS
from .dataset import LABELS, PIECES, WORD_IDS, EncT5Dataset, Metadata, read_column
from .metrics import DEFAULT_THRESHOLD, Metrics, ScoredExample, Validation
from .model import EncT5Model
from .problem_types import ProblemType

logger = logging.getLogger(__name__)

TASK = "enct5"
PREPARE = "lev-enct5-prepare"
LOWER_IS_BETTER = ("loss", "mse")
#: a metric that is neither good nor bad
THRESHOLD = "threshold"
#: key of a validation's logging output; fairseq prints no meter whose name begins with "_"
NUM_EXAMPLES = "_examples"


@register_task(TASK, dataclass=EncT5TaskConfig)
class EncT5Task(FairseqTask, TrainingHooks):
    """Classification, regression, multi-label classification and tagging with EncT5.

    A checkpoint keeps the description of its data and, for multilabel, the threshold that was best
    in the last validation of the first set of ``--valid-subset``.

    Raises:
        UserError: options that do not suit the data.
    """

    cfg: EncT5TaskConfig

    def __init__(self, cfg: EncT5TaskConfig, metadata: Metadata) -> None:
        super().__init__(cfg)
        self.metadata = metadata
        self.problem_type = ProblemType(cfg.kind or metadata.kind)
        #: labels or classes; 1 for values
        self.num_labels = max(len(metadata.labels), 1)
        self._check()
        metrics = Metrics(self.problem_type, metadata.labels, metadata.counts)
        self.validation = Validation(metrics)
        self.state.merge_state_dict({"description": asdict(metadata), THRESHOLD: DEFAULT_THRESHOLD})
        self.is_first_subset = False

    def _check(self) -> None:
        cfg = self.cfg
        fits = 0 < cfg.pack_length <= cfg.max_source_positions
        if cfg.pack_length and not (cfg.pack and fits):
            raise UserError(
                f"--pack-length {cfg.pack_length}: give it with --pack, and a number from 1 to "
                f"--max-source-positions {cfg.max_source_positions}"
            )
        prepared = ProblemType(self.metadata.kind)
        both_multilabel = self.problem_type.is_multilabel and prepared.is_multilabel
        if self.problem_type is not prepared and not both_multilabel:
            kind = self.problem_type.value
            raise UserError(f"--kind {kind}: the data were prepared for {prepared.value}")
        max_labels = cfg.max_target_positions
        if self.problem_type is ProblemType.MULTILABEL and self.num_labels > max_labels:
            raise UserError(
                f"{self.num_labels} labels are more than --max-target-positions {max_labels}; "
                "raise it, or give --kind multilabel_pooled"
            )

    @classmethod
    def setup_task(cls, cfg: EncT5TaskConfig, **kwargs: object) -> "EncT5Task":
        """Reads the description in the data folder.

        Raises:
            UserError: no data, or a command that generates text.
        """
        if running_command() in ("generate", "interactive"):
            raise UserError("EncT5 generates no text; use lev-predict")
        if not cfg.data:
            raise UserError(f"no data folder given; name the one that {PREPARE} made")
        return cls(cfg, Metadata.from_folder(cfg.data))

    @property
    def threshold(self) -> float:
        """Returns the score above which a label holds: the last validation's best, at first 0.5."""
        return float(self.state.threshold)

    def build_model(self, cfg: DictConfig, from_checkpoint: bool = False) -> BaseFairseqModel:
        """Builds the model.

        Raises:
            UserError: another model, or a training that selects by a metric that validation lacks.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        model = ARCH_MODEL_REGISTRY.get(name)
        if model is not None and not issubclass(model, EncT5Model):
            raise UserError(f"--arch {name} is not an EncT5; --task {TASK} needs --arch enct5_…")
        if not from_checkpoint:
            self._check_best_metric(self.cfg.best_checkpoint_metric)
        return super().build_model(cfg, from_checkpoint)

    def build_criterion(self, cfg: DictConfig, from_checkpoint: bool = False) -> FairseqCriterion:
        """Builds the criterion; raises :class:`UserError` for another one."""
        name = getattr(cfg, "_name", None) or CRITERION
        if name != CRITERION:
            raise UserError(f"--criterion {name}: --task {TASK} needs --criterion {CRITERION}")
        return super().build_criterion(cfg, from_checkpoint)

    def _check_best_metric(self, best: str) -> None:
        if best.startswith("${"):  # outside of a command
            return
        known = [name for name in ("loss", *self.validation.metrics.names) if name != THRESHOLD]
        if best not in known:
            raise UserError(
                f"--best-checkpoint-metric {best}: validation of {self.problem_type.value} gives "
                f"{', '.join(known)}"
            )
        lower_is_better = best in LOWER_IS_BETTER
        if lower_is_better == bool(self.cfg.maximize_best_checkpoint_metric):
            way = "lower is better; leave out" if lower_is_better else "higher is better; give"
            flag = "--maximize-best-checkpoint-metric"
            raise UserError(f"--best-checkpoint-metric {best}: {way} {flag}")

    def begin_from(self, start: Start) -> None:
        """Takes over a checkpoint's state before a training begins with it.

        For fine-tuning on other labels, parameters that belong to labels stay random.

        Raises:
            UserError: other subwords, or a resumed training on other labels.
        """
        path, state, model, finetuned = start
        kept = Metadata.from_state(state.get("task_state"), path)
        theirs = state["model"]
        own = model.state_dict()
        same_data = kept.kind == self.metadata.kind and kept.labels == self.metadata.labels
        # multilabel and multilabel_pooled take the same data
        same_head = theirs["head.weight"].shape == own["head.weight"].shape
        if not finetuned or (same_data and same_head):
            self._take_over(state["task_state"], path, () if finetuned else ("texts_per_example",))
            return
        self.metadata.check_same(kept, str(self.cfg.data), "pieces")
        logger.info(
            "the checkpoint was trained for other labels or another --kind: encoder and decoder "
            "blocks begin with its parameters, the output layer with random ones"
        )
        # several latents are one per label, a single one is for all
        table = "decoder.table.weight"
        has_label_latents = max(len(theirs[table]), len(own[table])) > 1
        prefixes = ("head.", "decoder.table.") if has_label_latents else ("head.",)
        for name, parameter in own.items():
            if name.startswith(prefixes):
                theirs[name] = parameter

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a checkpoint's state; raises :class:`UserError` for that of other data."""
        self._take_over(state_dict, "the checkpoint", ("texts_per_example",))

    def _take_over(self, state_dict: dict[str, Any], where: str, fields: Sequence[str]) -> None:
        """Takes over the threshold of a checkpoint.

        Args:
            fields: fields of the metadata that have to be equal besides kind, labels and pieces.
        """
        kept = Metadata.from_state(state_dict, where)
        self.metadata.check_same(kept, str(self.cfg.data), "kind", "labels", "pieces", *fields)
        threshold = float(state_dict[THRESHOLD])
        self.state.merge_state_dict({THRESHOLD: threshold})

    def load_dataset(self, split: str, combine: bool = False, **kwargs: object) -> None:
        """Loads a split; raises :class:`UserError` if there is none."""
        prefix = os.path.join(self.cfg.data or "", split)
        if not os.path.isfile(f"{prefix}.{PIECES}.idx"):
            raise UserError(
                f"{self.cfg.data} has no {split} data ({split}.{PIECES}.idx is missing); name "
                f"another split, or prepare it with {PREPARE}"
            )
        pieces = read_column(f"{prefix}.{PIECES}")
        labels = read_column(f"{prefix}.{LABELS}")
        word_ids = None
        if self.problem_type is ProblemType.TAGGING:
            word_ids = read_column(f"{prefix}.{WORD_IDS}")
        is_train = split in ("train", self.cfg.train_subset)
        limits = None
        if is_train and self.cfg.pack:
            row_length = self.cfg.pack_length or self.cfg.max_source_positions
            limits = (row_length, self.cfg.max_target_positions)
        self.datasets[split] = EncT5Dataset(
            pieces, word_ids, labels, self.problem_type, self.num_labels, limits, shuffle=is_train
        )
        self.validation.clear()

    def max_positions(self) -> tuple[int, int]:
        """Returns the most subwords and decoder positions in a row."""
        return self.cfg.max_source_positions, self.cfg.max_target_positions

    def filter_indices_by_size(
        self,
        indices: np.ndarray,
        dataset: EncT5Dataset,
        max_positions: tuple[int, int],
        ignore_invalid_inputs: bool = False,
    ) -> np.ndarray:
        """Returns the rows that fit; raises :class:`UserError` if training has others."""
        is_long = (dataset.sizes[indices] > np.asarray(max_positions)).any(1)
        num_long = int(is_long.sum())
        if num_long and (dataset.shuffle or not ignore_invalid_inputs):
            row = int(indices[is_long].min())
            size = tuple(dataset.sizes[row].tolist())
            raise UserError(
                f"example {dataset.rows[row][0] + 1} is too long: its row has {size} subwords and "
                f"decoder positions where {tuple(max_positions)} are allowed; raise --max-tokens, "
                "--max-source-positions or --max-target-positions, lower --pack-length, or prepare "
                "the data with a smaller --max-length"
            )
        if num_long:
            logger.warning("%s too long, skipped", counted(num_long, "example"))
        return indices[~is_long]

    def begin_valid_epoch(self, epoch: int, model: BaseFairseqModel) -> None:
        """Begins a validation with the first set of ``--valid-subset``."""
        self.is_first_subset = True
        self.validation.clear()
        # fairseq's meters "valid" add up all validations; _metric needs the examples of this one
        log.reset_meters("valid")

    def post_validate(self, model: BaseFairseqModel, stats: Mapping[str, Any], agg: object) -> None:
        """Keeps the best threshold of the first set, before a checkpoint is saved."""
        if self.is_first_subset and THRESHOLD in stats:
            self.state.merge_state_dict({THRESHOLD: float(stats[THRESHOLD])})
        self.is_first_subset = False
        self.validation.clear()

    def valid_step(
        self, sample: dict[str, Any], model: BaseFairseqModel, criterion: FairseqCriterion
    ) -> tuple[Tensor, int, dict[str, Any]]:
        """Computes the loss of a batch; keeps the predictions for the batches of all processes."""
        loss, sample_size, logging_output = super().valid_step(sample, model, criterion)
        predictions = logging_output.pop(PREDICTIONS)
        indices = sample["id"].tolist()
        by_example = predictions.split(sample["num_predictions"])
        if self.problem_type.is_multilabel:
            by_example = predictions.unbind(0)
        dtype = np.float64 if self.problem_type is ProblemType.REGRESSION else np.int64
        examples = {}
        for index, scores, labels in zip(indices, by_example, sample["labels"], strict=True):
            examples[index] = ScoredExample(scores.numpy(), np.array(labels, dtype))
        self.validation.add(examples)
        logging_output[NUM_EXAMPLES] = len(examples)
        return loss, sample_size, logging_output

    def reduce_metrics(
        self, logging_outputs: list[Mapping[str, Any]], criterion: FairseqCriterion
    ) -> None:
        """Logs the loss, and in validation the metrics of all batches so far."""
        super().reduce_metrics(logging_outputs, criterion)
        counts = [output[NUM_EXAMPLES] for output in logging_outputs if NUM_EXAMPLES in output]
        if counts:
            log.log_scalar(NUM_EXAMPLES, float(sum(counts)))
            for name in self.validation.metrics.names:
                log.log_derived(name, functools.partial(self._metric, name))

    def _metric(self, name: str, meters: MetersDict) -> float:
        """Returns a metric to six digits.

        The first set is scored with its best threshold, others with the one that is kept.
        """
        # fairseq also asks for the metrics of each batch by itself, and uses none of these
        if meters[NUM_EXAMPLES].sum < len(self.validation):
            return 0.0
        threshold = None if self.is_first_subset else self.threshold
        return float(f"{self.validation.value(name, threshold):.6g}")
