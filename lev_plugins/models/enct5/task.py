"""The task: prepared data in, rows of examples out, metrics of what was predicted."""

import functools
import os
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np
from fairseq.data import FairseqDataset, data_utils
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.logging import metrics as log
from fairseq.tasks import FairseqTask, register_task
from torch import Tensor

from ...errors import UserError
from .dataset import EncT5Dataset
from .description import LABELS, PIECES, SPANS, Description
from .kinds import KINDS, Kind
from .metrics import PREFIX, Statistics, label_groups, names, statistics, summary
from .pieces import PieceDictionary

SUMS = "_statistics"


@dataclass
class EncT5TaskConfig(FairseqDataclass):
    data: Optional[str] = field(
        default=None, metadata={"help": "folder made by python -m lev_plugins.cli.enct5_prepare"}
    )
    kind: Optional[ChoiceEnum(KINDS)] = field(  # type: ignore[valid-type]
        default=None,
        metadata={
            "help": "what is predicted; default: what the data were prepared for. multilabel and "
            "multilabel_pooled take the same data"
        },
    )
    pack: bool = field(
        default=False, metadata={"help": "several examples in a row in training (paper, §3.1)"}
    )
    pack_length: int = field(
        default=0,
        metadata={
            "help": "pieces to which --pack fills rows; short rows save attention; longer "
            "examples stand alone (default: --max-source-positions)"
        },
    )
    max_source_positions: int = field(default=512, metadata={"help": "most pieces in a row"})
    max_target_positions: int = field(
        default=1024, metadata={"help": "most decoder positions (labels, words) in a row"}
    )


@register_task("enct5", dataclass=EncT5TaskConfig)
class EncT5Task(FairseqTask):
    """Classification, regression, multi-label classification and tagging with EncT5.

    A checkpoint keeps the description of its data and the threshold that validation found best.

    Args:
        cfg: settings.
        description: of the data.

    Raises:
        UserError: settings that do not suit the data.
    """

    cfg: EncT5TaskConfig

    def __init__(self, cfg: EncT5TaskConfig, description: Description) -> None:
        super().__init__(cfg)
        self.description = description
        self.kind = Kind(str(cfg.kind) if cfg.kind else description.kind)
        self._check()
        self.dictionary = PieceDictionary(description.pieces)
        self.groups = label_groups(description.counts) if self.kind.many else {}
        self.state.merge_state_dict({"description": asdict(description), "threshold": 0.5})

    def _check(self) -> None:
        if self.cfg.pack_length < 0 or (self.cfg.pack_length and not self.cfg.pack):
            raise UserError(f"--pack-length {self.cfg.pack_length}: give it with --pack, above 0")
        prepared, most = Kind(self.description.kind), self.cfg.max_target_positions
        if self.kind is not prepared and not (self.kind.many and prepared.many):
            raise UserError(
                f"--kind {self.kind.value}: {self.cfg.data} was prepared for {prepared.value}"
            )
        if self.kind is Kind.MULTILABEL and self.number > most:
            raise UserError(
                f"{self.number} labels are more than --max-target-positions {most}; raise it, or "
                "give --kind multilabel_pooled"
            )

    @classmethod
    def setup_task(cls, cfg: EncT5TaskConfig, **kwargs: Any) -> "EncT5Task":
        """Reads what the data folder holds.

        Raises:
            UserError: nothing that was prepared.
        """
        if not cfg.data:
            raise UserError(
                "no data folder given; name the one that python -m lev_plugins.cli.enct5_prepare "
                "made"
            )
        return cls(cfg, Description.read(cfg.data))

    @property
    def number(self) -> int:
        """Labels or classes; 1 for values."""
        return max(len(self.description.labels), 1)

    @property
    def threshold(self) -> float:
        """A label holds where its score is above this; best in the last validation, first 0.5."""
        return float(self.state.threshold)

    @property
    def source_dictionary(self) -> PieceDictionary:
        """T5's pieces."""
        return self.dictionary

    @property
    def target_dictionary(self) -> None:
        """None: nothing is written."""
        return None

    @classmethod
    def load_dictionary(cls, filename: str) -> PieceDictionary:
        """A dictionary's file, with T5's special pieces in front."""
        dictionary = PieceDictionary()
        dictionary.add_from_file(filename)
        return dictionary

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Takes over what a checkpoint keeps.

        Raises:
            UserError: it was trained on other labels or pieces.
        """
        kept = Description.of(state_dict.get("description") or {}, "checkpoint")
        for name in ("labels", "pieces"):
            if getattr(kept, name) != getattr(self.description, name):
                raise UserError(
                    f"{self.cfg.data}: its {name} are not those that the checkpoint was trained "
                    "with; prepare the data with the same labels.txt and pieces"
                )
        self.state.merge_state_dict({"threshold": float(state_dict.get("threshold", 0.5))})

    # data -------------------------------------------------------------------------------------

    def load_dataset(self, split: str, combine: bool = False, **kwargs: Any) -> None:
        """Loads a split.

        Raises:
            FileNotFoundError: there is none.
        """
        tagging = self.kind is Kind.TAGGING
        training = split == "train"
        dataset = EncT5Dataset(
            self._part(split, PIECES),
            self._part(split, SPANS) if tagging else None,
            self._part(split, LABELS),
            self.kind,
            self.number,
            row=self._packed_row() if training else None,
            most=self.cfg.max_target_positions,
            shuffle=training,
        )
        self.datasets[split] = dataset

    def _packed_row(self) -> Optional[int]:
        """Most pieces in a row of several examples, None without packing."""
        most = self.cfg.max_source_positions
        return min(self.cfg.pack_length or most, most) if self.cfg.pack else None

    def _part(self, split: str, name: str) -> Any:
        path = os.path.join(self.cfg.data or "", f"{split}.{name}")
        found = data_utils.load_indexed_dataset(path, None, "mmap")
        if found is None:
            raise FileNotFoundError(f"Dataset not found: {split} ({path})")
        return found

    def max_positions(self) -> Tuple[int, int]:
        """Most pieces and decoder positions in a row."""
        return self.cfg.max_source_positions, self.cfg.max_target_positions

    def filter_indices_by_size(
        self,
        indices: np.ndarray,
        dataset: FairseqDataset,
        max_positions: Any = None,
        ignore_invalid_inputs: bool = False,
    ) -> np.ndarray:
        """Nothing is left out.

        Raises:
            UserError: a row is too long.
        """
        long = [i for i in indices if any(s > m for s, m in zip(dataset.size(i), max_positions))]
        if long:
            pieces, latents = dataset.size(long[0])
            raise UserError(
                f"{len(long)} examples are too long, one with {pieces} pieces and {latents} "
                f"decoder positions where {max_positions[0]} and {max_positions[1]} are allowed; "
                "raise --max-source-positions, --max-target-positions and --max-tokens, or prepare "
                "the data with a smaller --max-length"
            )
        return indices

    # metrics ----------------------------------------------------------------------------------

    def statistics(self, scores: Tensor, targets: Tensor, cut: int) -> Statistics:
        """What a validation batch adds to the metrics."""
        span = self.description.low, self.description.high
        return statistics(self.kind, scores, targets, cut, self.groups, span)

    def reduce_metrics(self, logging_outputs: List[Mapping[str, Any]], criterion: Any) -> None:
        """Logs the metrics of all batches of all workers so far, and keeps the best threshold."""
        super().reduce_metrics(logging_outputs, criterion)
        keys = [key for key in logging_outputs[0] if key.startswith(PREFIX)]
        if not keys:
            return
        sums = np.array([sum(float(one.get(k, 0)) for one in logging_outputs) for k in keys])
        log.log_scalar(SUMS, sums)
        counted = [key[len(PREFIX) :] for key in keys]
        for name in names(self.kind, self.number, self.groups):
            log.log_derived(name, functools.partial(self._metric, name, counted))
        if self.kind.many:
            innermost = log.get_active_aggregators()[-1]
            found = self._metric("threshold", counted, innermost)
            self.state.merge_state_dict({"threshold": found})

    def _metric(self, name: str, counted: List[str], meters: Any) -> float:
        return round(summary(self.kind, dict(zip(counted, meters[SUMS].sum)))[name], 4)

    # what this task does not do ---------------------------------------------------------------

    def build_generator(self, models: Any, args: Any, **options: Any) -> Any:
        """Nothing is generated.

        Raises:
            UserError: always.
        """
        raise UserError(
            "EncT5 writes no text; python -m lev_plugins.cli.enct5_predict prints its predictions"
        )
