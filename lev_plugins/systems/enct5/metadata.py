"""What a prepared data folder holds, and what a checkpoint keeps of it."""

import json
import os
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple

from ...errors import UserError
from ...fairseq_patches import read_checkpoint
from .config import EncT5TaskConfig, problem_type, resolved
from .problem_types import KINDS, ProblemType
from .tokenizer import Tokenizer, WordpieceTokenizer

DESCRIPTION = "enct5.json"
LAST = "checkpoint_last.pt"  # fairseq looks for it in --save-dir, for others where they are
PIECES, SPANS, LABELS = "pieces", "spans", "labels"
#: what has to be as it was in a training → how data are prepared with it
SAME = {
    "kind": "its --kind",
    "labels": "the same --labels",
    "pieces": "--subwords-of CHECKPOINT",
}


@dataclass
class Metadata:
    """What data are made of.

    kind: what is predicted. labels: their names in order, none for values. pieces: of the
    vocabulary. counts: how often training has each label. low, high: least and greatest value.
    texts: how many an example has. max_length: most subwords of an example. model: the
    sentencepiece model, base64, None for bytes. wordpiece: a BERT's tokenizer instead of both.
    """

    kind: str
    labels: list[str]
    pieces: list[str]
    counts: list[int] = field(default_factory=list)
    low: float = 0.0
    high: float = 1.0
    texts: int = 1
    max_length: int = 512
    model: str | None = None
    wordpiece: str | None = None

    @classmethod
    def of(cls, values: object, where: str) -> "Metadata":
        """From plain values; raises :class:`UserError` where they describe no data of EncT5."""
        if not isinstance(values, dict):
            raise UserError(f"{where}: holds no description of EncT5's data")
        try:
            found = cls(**values)
        except TypeError as error:
            raise UserError(f"{where}: not a description of EncT5's data ({error})") from error
        if found.kind not in KINDS:
            raise UserError(f"{where}: the kind of its data is {found.kind!r:.40}")
        found.tokenizer(where)  # which refuses a damaged one
        return found

    @classmethod
    def read(cls, folder: str) -> "Metadata":
        """What ``lev-enct5-prepare`` wrote; raises :class:`UserError` unless it is whole."""
        path = os.path.join(folder, DESCRIPTION)
        try:
            with open(path, encoding="utf-8") as file:
                return cls.of(json.load(file), path)
        except (OSError, json.JSONDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise UserError(f"{path}: {why}; make the data with lev-enct5-prepare") from error

    def write(self, folder: str) -> None:
        """Writes it into a folder."""
        with open(os.path.join(folder, DESCRIPTION), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, ensure_ascii=False)
            file.write("\n")

    def check_same(self, kept: "Metadata", where: str, *names: str) -> None:
        """Raises :class:`UserError` where a checkpoint was trained on other data.

        Args:
            kept: what the checkpoint says of its data. where: these are, for messages.
            names: what has to be equal, of :data:`SAME`.
        """
        for name in names:
            here, there = getattr(self, name), getattr(kept, name)
            sides = ([here], [there]) if name == "kind" else (here, there)
            for at, (one, other) in enumerate(zip_longest(*sides)):
                if one != other:
                    raise UserError(
                        f"{where}: other {name} than the checkpoint was trained with (number {at} "
                        f"is {one!r}, there {other!r}); prepare the data with {SAME[name]}"
                    )

    def tokenizer(self, where: str = DESCRIPTION) -> Tokenizer:
        """What cuts text as these data were cut; raises :class:`UserError` if it is damaged."""
        if self.wordpiece is not None:
            return WordpieceTokenizer(self.wordpiece, self.pieces, where)
        return Tokenizer(self.model, self.pieces, where)


class Start(NamedTuple):
    """A checkpoint: the state of its task, what it says of its data, and its ``--kind``.

    finetuned: whether it is that of ``--finetune-from-model``.
    """

    state: dict[str, Any]
    metadata: Metadata
    kind: ProblemType
    finetuned: bool


def starting_checkpoint(cfg: EncT5TaskConfig) -> Start | None:
    """The checkpoint that a training begins with; None where it begins anew.

    Raises:
        UserError: it cannot be read, or was not trained with this task.
    """
    restored = resolved(cfg.restore_file)
    if restored == LAST:
        restored = os.path.join(resolved(cfg.save_dir) or "", LAST)
    finetuned = resolved(cfg.finetune_from_model)
    starts = (restored, resolved(cfg.continue_once), finetuned)
    path = next((path for path in starts if path and os.path.isfile(path)), None)
    if path is None:
        return None
    checkpoint = read_checkpoint(path, mmap=True)
    state = checkpoint.get("task_state") or {}
    metadata = Metadata.of(state.get("description"), path)
    settings = (checkpoint.get("cfg") or {}).get("task") or {}
    kind = problem_type(resolved(settings.get("kind")) or metadata.kind)
    return Start(state, metadata, kind, path == finetuned)
