"""What a prepared data folder holds, and what a checkpoint keeps of it."""

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any, List, Mapping, Optional

from ...errors import UserError
from .kinds import KINDS
from .pieces import Cutter

DESCRIPTION = "enct5.json"
PIECES, SPANS, LABELS = "pieces", "spans", "labels"
_TYPES = {"labels": str, "pieces": str, "counts": int}


@dataclass
class Description:
    """What data are made of.

    kind: what is predicted. labels: their names in order, none for values. pieces: of the
    vocabulary. counts: how often training has each label. low, high: least and greatest value.
    texts: how many an example has. max_length: most pieces of an example. model: the
    sentencepiece model, base64, None for bytes.
    """

    kind: str
    labels: List[str]
    pieces: List[str]
    counts: List[int] = field(default_factory=list)
    low: float = 0.0
    high: float = 1.0
    texts: int = 1
    max_length: int = 512
    model: Optional[str] = None

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str) -> "Description":
        """From plain values.

        Args:
            where: they were read, for the errors.

        Raises:
            UserError: some are missing, or are of another type.
        """
        try:
            found = cls(**values)
        except TypeError as error:
            raise UserError(f"{where}: not a description of EncT5's data ({error})") from error
        lists = {name: getattr(found, name) for name in _TYPES}
        for name, value in lists.items():
            if not isinstance(value, list) or not all(
                isinstance(one, _TYPES[name]) for one in value
            ):
                raise UserError(f"{where}: {name} is no list of {_TYPES[name].__name__}")
        if found.kind not in KINDS:
            raise UserError(f"{where}: kind is {found.kind!r}; known are {', '.join(KINDS)}")
        numbers = (found.low, found.high, found.texts, found.max_length)
        if not all(isinstance(one, (int, float)) for one in numbers) or found.max_length < 2:
            raise UserError(f"{where}: max_length or other numbers cannot be; prepare again")
        return found

    @classmethod
    def read(cls, folder: str) -> "Description":
        """What ``python -m lev_plugins.cli.enct5_prepare`` wrote.

        Raises:
            UserError: it is not there or not whole.
        """
        path = os.path.join(folder, DESCRIPTION)
        try:
            with open(path, encoding="utf-8") as file:
                values = json.load(file)
        except FileNotFoundError as error:
            raise UserError(
                f"{path} does not exist; make the data with python -m lev_plugins.cli.enct5_prepare"
            ) from error
        except (ValueError, OSError) as error:
            raise UserError(f"{path} cannot be read ({error}); prepare the data again") from error
        if not isinstance(values, dict):
            raise UserError(f"{path}: holds no JSON object; prepare the data again")
        return cls.of(values, path)

    def write(self, folder: str) -> None:
        """Writes it into a folder."""
        with open(os.path.join(folder, DESCRIPTION), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, ensure_ascii=False)
            file.write("\n")

    def cutter(self) -> Cutter:
        """What cuts text as these data were cut."""
        return Cutter(self.model, self.pieces)
