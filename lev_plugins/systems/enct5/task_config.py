"""The options of task ``enct5``."""

from dataclasses import dataclass

from fairseq.dataclass import FairseqDataclass
from omegaconf import II

from ...errors import UserError
from ...options import OptionalStr, option
from .problem_types import KINDS, ProblemType


@dataclass
class EncT5TaskConfig(FairseqDataclass):
    data: OptionalStr = option(None, "folder made by lev-enct5-prepare")
    kind: OptionalStr = option(
        None,
        f"what is predicted, {', '.join(KINDS)}; default: what the data were prepared "
        "for. multilabel and multilabel_pooled take the same data",
    )
    pack: bool = option(
        False, "several examples in a row in training, to save padding (paper, §4.1)"
    )
    pack_length: int = option(
        0,
        "subwords to which --pack fills rows; short rows save attention; longer examples stand "
        "alone (default: --max-source-positions)",
    )
    max_source_positions: int = option(512, "most subwords in a row")
    max_target_positions: int = option(1024, "most decoder positions (labels, words) in a row")
    # what the commands are told; a task is given nothing but its own options
    train_subset: str = II("dataset.train_subset")
    best_checkpoint_metric: str = II("checkpoint.best_checkpoint_metric")
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")
    save_dir: str = II("checkpoint.save_dir")
    restore_file: str = II("checkpoint.restore_file")
    continue_once: OptionalStr = II("checkpoint.continue_once")
    finetune_from_model: OptionalStr = II("checkpoint.finetune_from_model")


def problem_type(name: str) -> ProblemType:
    """By the name that ``--kind`` has."""
    if name not in KINDS:
        raise UserError(f"--kind {name}: there are {', '.join(KINDS)}")
    return ProblemType(name)


def resolved(setting: str | None) -> str | None:
    """What a command was told; None outside of one, where there is nothing to look it up in."""
    return None if setting is None or str(setting).startswith("${") else str(setting)
