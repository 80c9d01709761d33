"""The description of prepared data, which a checkpoint keeps."""

import base64
import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from lev_runtime.errors import UserError
from lev_runtime.pieces import FolderTokenizer, Tokenizer

from ...pretrained.directory import optional_library
from ...pretrained.vocabulary import BOS

DESCRIPTION = "enct5.json"
#: last parts of the names of a split's files
PIECES, WORD_IDS, LABELS = "pieces", "spans", "labels"


@dataclass
class Metadata:
    """The description of prepared data.

    kind: what is predicted. labels: their names in order, none for values. pieces: of the
    vocabulary. counts: how often training has each label. max_length: most subwords of an example.
    model: the sentencepiece model, base64, None for bytes. hf_tokenizer: the tokenizer of a
    folder instead, see :class:`.FolderTokenizer`.
    """

    kind: str
    labels: list[str]
    pieces: list[str]
    counts: list[int] = field(default_factory=list)
    texts_per_example: int = 1
    max_length: int = 512
    model: str | None = None
    hf_tokenizer: str | None = None

    @classmethod
    def from_state(cls, state: Any, where: str) -> "Metadata":
        """Reads it from the state of a checkpoint's task; raises :class:`UserError` where it has
        none."""
        return cls.from_dict((state or {}).get("description"), where)

    @classmethod
    def from_folder(cls, folder: str) -> "Metadata":
        """Reads what ``lev-enct5-prepare`` wrote; raises :class:`UserError` unless it is whole."""
        path = os.path.join(folder, DESCRIPTION)
        try:
            with open(path, encoding="utf-8") as file:
                values = json.load(file)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"{path}: {reason}; make the data with lev-enct5-prepare") from None
        return cls.from_dict(values, path)

    @classmethod
    def from_dict(cls, values: Any, where: str) -> "Metadata":
        """Makes it of its fields; raises :class:`UserError` for others."""
        try:
            return cls(**values)
        except TypeError as error:
            raise UserError(f"{where}: has no description of EncT5 data ({error})") from None

    def write(self, folder: str) -> None:
        """Writes it into a folder."""
        with open(os.path.join(folder, DESCRIPTION), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, ensure_ascii=False)
            file.write("\n")

    def check_same(self, kept: "Metadata", where: str, *names: str) -> None:
        """Raises :class:`UserError` where a checkpoint was trained on data other than these.

        Args:
            kept: what the checkpoint says.
            where: these data.
            names: fields that have to be equal.
        """
        for name in names:
            if getattr(self, name) != getattr(kept, name):
                raise UserError(
                    f"{where}: other {name.replace('_', ' ')} than the checkpoint was trained "
                    "with; prepare the data with its --kind and --labels, and --subwords-of "
                    "CHECKPOINT"
                )

    def tokenizer(self, where: str) -> Tokenizer:
        """Returns the tokenizer that these data were prepared with."""
        if self.hf_tokenizer is not None:
            optional_library("tokenizers", f"{where}: reading its tokenizer")
            return FolderTokenizer(self.hf_tokenizer, BOS in self.pieces, self.pieces)
        return Tokenizer(None if self.model is None else base64.b64decode(self.model))
