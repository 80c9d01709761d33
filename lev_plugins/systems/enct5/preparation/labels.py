"""Labels and values of examples, checked, and as the data hold them."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ....errors import UserError
from ....io.text_files import read_lines
from ..problem_types import ProblemType, bits_of
from .reading import Labelled

#: a value whose square single precision can hold
LARGEST = 1e18


class Labels:
    """What is known of the labels of some data.

    Args:
        kind: what is predicted.
        names: all of them in order; none for values.
        by_number: whether examples give numbers of names, from 0.
    """

    def __init__(
        self, kind: ProblemType, names: Sequence[str] = (), by_number: bool = False
    ) -> None:
        self.kind, self.names, self.by_number = kind, list(names), by_number
        spelt = map(str, range(len(names))) if by_number else names
        self.index = {label: number for number, label in enumerate(spelt)}

    def ids(self, example: Labelled) -> list[int]:
        """Numbers of the labels; of many labels each once.

        Raises:
            UserError: one that is not known.
        """
        found = []
        for place, label in enumerate(example.labels):
            number = self.index.get(label)
            if number is None:
                raise UserError(f"{example.place(place)}: {self._unknown(label)}")
            found.append(number)
        return list(dict.fromkeys(found)) if self.kind.many else found

    def _unknown(self, label: str) -> str:
        if self.by_number:
            return (
                f"{label!r} is not the number of one of the {len(self.names)} labels, which count "
                "from 0"
            )
        return (
            f"the label {label!r} is not among the {len(self.names)} labels; fix the line, or "
            "give --labels FILE with all of them"
        )

    def value(self, example: Labelled) -> float:
        """The value.

        Raises:
            UserError: no number, or one that is too large to be predicted.
        """
        (written,) = example.labels
        try:
            found = float(written)
        except ValueError:
            raise UserError(f"{example.where}: {written!r} is not a number") from None
        if not abs(found) <= LARGEST:
            raise UserError(
                f"{example.where}: {written!r} is no number from {-LARGEST:g} to {LARGEST:g}"
            )
        return found

    def stored(self, example: Labelled) -> Tensor:
        """As the data hold them: numbers of labels, or the bits of a value, int32.

        Raises:
            UserError: they cannot be.
        """
        if self.kind is ProblemType.REGRESSION:
            return bits_of([self.value(example)])
        return torch.tensor(self.ids(example), dtype=torch.int32)


def listed_labels(path: str, kind: ProblemType, separator: str | None) -> list[str]:
    """The lines of a file, without spaces around them.

    Args:
        separator: between the labels of an example; None if examples give numbers.

    Raises:
        UserError: a line that is no label, one that is there twice, or too few.
    """
    seen: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        label, where = line.strip(), f"{path}: line {number}"
        if not label:
            raise UserError(f"{where}: the label is empty; remove the line")
        if label in seen:
            raise UserError(f"{where}: the label {label!r} is in line {seen[label]} already")
        if "\t" in label:
            raise UserError(f"{where}: the label {label!r} holds a tab; labels stand one a line")
        if kind is ProblemType.TAGGING and len(label.split()) > 1:
            raise UserError(f"{where}: the tag {label!r} holds a space, which stands between tags")
        if kind.many and separator is not None and separator in label:
            raise UserError(
                f"{where}: the label {label!r} holds {separator!r}, which stands between labels; "
                "give another --label-separator"
            )
        seen[label] = number
    return _enough(list(seen), kind, path)


def found_labels(examples: Iterable[Labelled], kind: ProblemType, path: str) -> list[str]:
    """All labels of some examples, in the order of their characters.

    Args:
        path: of their file, for the error.

    Raises:
        UserError: too few.
    """
    found = sorted({label for example in examples for label in example.labels})
    return _enough(found, kind, path)


def _enough(labels: list[str], kind: ProblemType, path: str) -> list[str]:
    if not labels:
        raise UserError(f"{path}: holds no labels")
    if len(labels) < 2 and not kind.many:
        raise UserError(f"{path}: {labels[0]!r} is the only label; two at least can be told apart")
    return labels
