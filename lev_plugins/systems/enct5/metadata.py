"""What a prepared data folder holds, and what a checkpoint keeps of it."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ...errors import UserError
from ...fairseq_patches import difference
from .problem_types import KINDS, ProblemType
from .tokenizer import Tokenizer, WordpieceTokenizer

DESCRIPTION = "enct5.json"
PIECES, SPANS, LABELS = "pieces", "spans", "labels"
#: most subwords of an example, and most examples that have a label: what files can count
LARGEST = 2**31 - 1
_LISTS = {"labels": str, "pieces": str, "counts": int}


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
    def of(cls, values: Mapping[str, Any], where: str) -> "Metadata":
        """From plain values.

        Args:
            where: they were read, for the errors.

        Raises:
            UserError: some are missing, of another type, or contradict each other.
        """
        try:
            found = cls(**values)
        except TypeError as error:
            raise UserError(f"{where}: not a description of EncT5's data ({error})") from error
        fault = found._wrong_type() or found._contradiction()
        if fault:
            raise UserError(f"{where}: {fault}; it is damaged: make or copy it again")
        found.tokenizer(where)
        return found

    def _wrong_type(self) -> str | None:
        """A field that has another type than it should, or a number that cannot be."""
        for name, kind in _LISTS.items():
            value = getattr(self, name)
            if not isinstance(value, list) or any(type(one) is not kind for one in value):
                return f"{name} is no list of {kind.__name__}"
        if self.kind not in KINDS:
            return f"kind is {self.kind!r:.40}; known are {', '.join(KINDS)}"
        if not all(_finite(value) for value in (self.low, self.high)) or self.low > self.high:
            return f"low and high are {self.low!r:.40} and {self.high!r:.40}"
        if not _count(self.texts, 1, 2):
            return f"texts is {self.texts!r:.40}, neither 1 nor 2"
        if not _count(self.max_length, 2, LARGEST):
            return f"max_length is {self.max_length!r:.40}"
        for name in ("model", "wordpiece"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                return f"{name} is no text"
        return None

    def _contradiction(self) -> str | None:
        """Fields that do not belong together."""
        values = ProblemType(self.kind) is ProblemType.REGRESSION
        if bool(self.labels) == values:
            return f"{len(self.labels)} labels for {self.kind}"
        if len(set(self.labels)) < len(self.labels):
            return "a label is there twice"
        if len(self.counts) not in (0, len(self.labels)):
            return f"{len(self.labels)} labels, and {len(self.counts)} counts of them"
        if not all(_count(one, 0, LARGEST) for one in self.counts):
            return "counts are no numbers of examples"
        return None

    @classmethod
    def read(cls, folder: str) -> "Metadata":
        """What ``lev-enct5-prepare`` wrote.

        Raises:
            UserError: it is not there or not whole.
        """
        path = os.path.join(folder, DESCRIPTION)
        try:
            with open(path, encoding="utf-8") as file:
                values = json.load(file)
        except FileNotFoundError as error:
            raise UserError(
                f"{path} does not exist; make the data with lev-enct5-prepare"
            ) from error
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error.strerror}); check the path") from error
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path} is damaged ({error}); prepare the data again") from error
        if not isinstance(values, dict):
            raise UserError(f"{path}: holds no JSON object; prepare the data again")
        return cls.of(values, path)

    def check_same(self, kept: "Metadata", where: str) -> None:
        """Refuses a checkpoint that was trained on other data.

        Args:
            kept: what the checkpoint says of its data. where: these are, for messages.

        Raises:
            UserError: of another kind, or with other labels or subwords.
        """
        if kept.kind != self.kind:
            raise UserError(
                f"{where} was prepared for {self.kind}, and the checkpoint is of {kept.kind}"
            )
        _check_equal("labels", self.labels, kept.labels, where, "the same --labels")
        self.check_subwords(kept, where)

    def check_subwords(self, kept: "Metadata", where: str) -> None:
        """Refuses a checkpoint that reads other subwords.

        Args:
            kept: what the checkpoint says of its data. where: these are, for messages.

        Raises:
            UserError: they differ.
        """
        way_out = "--subwords-of CHECKPOINT"
        _check_equal("subwords", self.pieces, kept.pieces, where, way_out)

    def predicts_the_same(self, other: "Metadata") -> bool:
        """Whether both are of one kind and have the same labels."""
        return (self.kind, self.labels) == (other.kind, other.labels)

    def write(self, folder: str) -> None:
        """Writes it into a folder."""
        with open(os.path.join(folder, DESCRIPTION), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, ensure_ascii=False)
            file.write("\n")

    def limits(self) -> tuple[int, int | None]:
        """How many subwords stand before every text, and how many a model takes at most, if any."""
        if self.wordpiece is None:
            return 0, None
        return len(WordpieceTokenizer.FIRST), self.max_length

    def tokenizer(self, where: str = DESCRIPTION) -> Tokenizer:
        """What cuts text as these data were cut.

        Args:
            where: the description was read, for the errors.

        Raises:
            UserError: the model or the subwords are damaged.
        """
        if self.wordpiece is not None:
            return WordpieceTokenizer(self.wordpiece, self.pieces, where)
        return Tokenizer(self.model, self.pieces, where)


def _check_equal(
    name: str, here: Sequence[str], there: Sequence[str], where: str, way_out: str
) -> None:
    found = difference(here, there)
    if found is not None:
        index, one, other = found
        raise UserError(
            f"{where}: its {name} are not those that the checkpoint was trained with "
            f"(number {index} is {one}, there {other}); prepare the data with {way_out}"
        )


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300 and not math.isnan(value)


def _count(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most
