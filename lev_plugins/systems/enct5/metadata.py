"""What a prepared data folder holds, and what a checkpoint keeps of it."""

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from ...errors import UserError
from .tokenizer import FolderTokenizer, Tokenizer

DESCRIPTION = "enct5.json"
PIECES, SPANS, LABELS = "pieces", "spans", "labels"


@dataclass
class Metadata:
    """What data are made of.

    kind: what is predicted. labels: their names in order, none for values. pieces: of the
    vocabulary. counts: how often training has each label. low, high: least and greatest value.
    texts: how many an example has. max_length: most subwords of an example. model: the
    sentencepiece model, base64, None for bytes. wordpiece: the tokenizer of a folder instead.
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
    def of(cls, state: Any, where: str) -> "Metadata":
        """From the state of a checkpoint's task; raises :class:`UserError` where it has none."""
        return cls._made((state or {}).get("description"), where)

    @classmethod
    def read(cls, folder: str) -> "Metadata":
        """What ``lev-enct5-prepare`` wrote; raises :class:`UserError` unless it is whole."""
        path = os.path.join(folder, DESCRIPTION)
        try:
            with open(path, encoding="utf-8") as file:
                return cls._made(json.load(file), path)
        except (OSError, json.JSONDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise UserError(f"{path}: {why}; make the data with lev-enct5-prepare") from error

    @classmethod
    def _made(cls, values: Any, where: str) -> "Metadata":
        try:
            return cls(**values)
        except TypeError as error:
            raise UserError(f"{where}: holds no description of EncT5's data ({error})") from error

    def write(self, folder: str) -> None:
        """Writes it into a folder."""
        with open(os.path.join(folder, DESCRIPTION), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, ensure_ascii=False)
            file.write("\n")

    def check_same(self, kept: "Metadata", where: str, *names: str) -> None:
        """Raises :class:`UserError` where a checkpoint was trained on data other than these, which
        are ``where``; ``names`` have to be equal.
        """
        for name in names:
            if getattr(self, name) != getattr(kept, name):
                raise UserError(
                    f"{where}: other {name} than the checkpoint was trained with; prepare the data "
                    "with its --kind and --labels, and --subwords-of CHECKPOINT"
                )

    def tokenizer(self, where: str) -> Tokenizer:
        """What cuts text as these data were cut."""
        if self.wordpiece is not None:
            return FolderTokenizer(self.wordpiece, self.pieces, where)
        return Tokenizer(self.model)
