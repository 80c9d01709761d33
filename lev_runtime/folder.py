"""A folder that ``lev-export`` has written: a description, ONNX graphs, their weights, words."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import UserError
from .session import Int8Weight, Session

FORMAT = 1  #: of the folders that this version writes and reads
DESCRIPTION = "runtime.json"
DICTIONARIES = "dictionaries.json"
WEIGHTS = "weights.bin"
SUBWORDS = "subwords.model"  #: a SentencePiece model
_AGAIN = "export the model again with lev-export"


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_export(path: str | os.PathLike[str]) -> bool:
    """Returns whether a folder looks as if ``lev-export`` had written it."""
    return Path(path, DESCRIPTION).is_file()


class Folder:
    """The files of an exported model, every one of them as it was written.

    Attributes:
        model: the kind of model, as fairseq names it.
        description: what ``runtime.json`` holds.

    Raises:
        UserError: no such folder, none of this version, or a file that is missing, cut short or
            another one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.description = self._read_description()
        for name, expected in self.description["files"].items():
            self._check_file(name, expected)
        self.model: str = self.description["model"]

    def _read_description(self) -> dict[str, Any]:
        place = self.path / DESCRIPTION
        if not place.is_file():
            fault = f"{self.path} holds no exported model ({DESCRIPTION} is missing)"
            raise UserError(f"{fault}; make one with lev-export")
        try:
            content = json.loads(place.read_bytes())
            version, files, model = (content.get(name) for name in ("format", "files", "model"))
        except (OSError, ValueError, AttributeError) as error:
            raise UserError(f"{place} cannot be read ({error}); {_AGAIN}") from None
        if version != FORMAT:
            raise UserError(
                f"{self.path} has format {version!r:.20}, and this version of lev_runtime reads "
                f"{FORMAT}; {_AGAIN}, of the version that is installed here"
            )
        if not isinstance(files, Mapping) or not isinstance(model, str):
            raise UserError(f"{place} lacks the names of its files; {_AGAIN}")
        return dict(content)

    def _check_file(self, name: str, expected: Mapping[str, Any]) -> None:
        path = self.path / name
        if Path(name).name != name:
            raise UserError(f"{self.path / DESCRIPTION} names a file elsewhere, {name}; {_AGAIN}")
        if not path.is_file():
            raise UserError(f"{path} is missing; {_AGAIN}")
        if digest(path) != expected["sha256"]:
            raise UserError(f"{path} is not the file that was exported; copy it again, or {_AGAIN}")

    @classmethod
    def holding(cls, model: str, path: "str | os.PathLike[str] | Folder", reader: str) -> "Folder":
        """Returns a folder, of its path or as it is, that holds such a model; ``reader``: who reads
        it. Raises :class:`UserError` for another model."""
        folder = path if isinstance(path, Folder) else cls(path)
        if folder.model != model:
            raise UserError(f"{folder.path} holds a {folder.model}, and {reader} reads a {model}")
        return folder

    def json(self, name: str) -> Any:
        """A file of the folder that holds JSON."""
        return json.loads((self.path / name).read_text("utf-8"))

    def session(self, graph: Mapping[str, Any], threads: int | None) -> Session:
        """A graph of the folder, as the description has it, ready to run."""
        weights = [Int8Weight(**weight) for weight in graph["int8"]]
        return Session(self.path / graph["file"], threads, self.path / WEIGHTS, weights)
