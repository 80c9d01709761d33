"""Labelled text from TSV and CoNLL-U files."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from lev_runtime.errors import UserError, counted
from lev_runtime.io.text_files import read_lines

from .problem_types import ProblemType, bits_of
from .sentences import FORM, UPOS, read_sentences

#: a value whose square single precision can hold
MAX_VALUE = 1e18
#: a cell as CSV quotes it if there are quotes inside, which are doubled
_CSV_CELL = re.compile(r'"[^"]*(?:""[^"]*)+"')


class LabelledText(NamedTuple):
    """One text with what is to be predicted of it.

    where: file and line, for messages. texts: one or two, or the words to be tagged.
    labels: as written, without spaces around them; one for a class or a value, one a word for tags.
    """

    where: str
    texts: list[str]
    labels: list[str]


@dataclass
class FileFormat:
    """How files are written.

    is_conllu: else TSV. label, texts: columns, from 0; CoNLL-U has its words where they belong.
    header: the first line of a TSV names its columns. width: columns of a TSV, None for as many as
    the first line has.
    """

    problem_type: ProblemType
    is_conllu: bool = False
    label: int = 0
    texts: Sequence[int] = (1,)
    header: bool = False
    width: int | None = None

    def read(self, path: str) -> Iterator[LabelledText]:
        """Yields the examples of a file in order.

        Raises:
            UserError: a line that is no example, or no example at all.
        """
        is_empty = True
        for example in (self._read_conllu if self.is_conllu else self._read_tsv)(path):
            self._check(example)
            is_empty = False
            yield example
        if is_empty:
            raise UserError(f"{path} has no examples; is --format right?")

    def _check(self, example: LabelledText) -> None:
        where, texts, labels = example
        if self.problem_type is ProblemType.TAGGING:
            if len(texts) != len(labels) or not texts:
                raise UserError(
                    f"{where}: {len(texts)} words and {len(labels)} tags; give one tag per word"
                )
        elif not all(map(str.strip, [*texts, *labels])):
            raise UserError(f"{where}: text or label is empty; remove the line")

    def _read_tsv(self, path: str) -> Iterator[LabelledText]:
        """Yields a text a line."""
        width = self.width
        for number, line in enumerate(read_lines(path), start=1):
            where = f"{path}: line {number}"
            cells = line.split("\t")
            width = width or len(cells)
            if any(map(str.strip, cells[width:])):
                raise UserError(
                    f"{where}: {counted(len(cells), 'column')}, expected {width}; replace "
                    "tabs in a text by spaces, or see --label-column and --text-columns"
                )
            if number > self.header:
                label, *texts = _select(where, cells, [self.label, *self.texts])
                yield self._labelled_text(where, label, texts)

    def _labelled_text(self, where: str, label: str, texts: list[str]) -> LabelledText:
        if self.problem_type is ProblemType.TAGGING:
            return LabelledText(where, texts[0].split(), label.split())
        labels = [_unquoted(label).strip()]
        if self.problem_type.is_multilabel:
            labels = list(filter(None, map(str.strip, labels[0].split(","))))
        return LabelledText(where, list(map(_unquoted, texts)), labels)

    def _read_conllu(self, path: str) -> Iterator[LabelledText]:
        for sentence in read_sentences(read_lines(path), path):
            places = [f"{path}: line {number}" for number in sentence.numbers]
            if places:
                tags = list(map(self._tag, places, sentence.rows))
                yield LabelledText(places[0], sentence.words, tags)

    def _tag(self, where: str, row: list[str]) -> str:
        """Returns the tag of a word of CoNLL-U."""
        word, cell = _select(where, row, [FORM, self.label])
        tag = cell.strip()
        is_untagged = self.label == UPOS and tag == "_"
        if len(tag.split()) != 1 or is_untagged:
            raise UserError(f"{where}: the word {word!r} has the tag {tag!r}; fix the line")
        return tag


def _unquoted(cell: str) -> str:
    """Returns the text of a cell: in quotes, with doubled ones inside, it is quoted as in CSV."""
    stripped = cell.strip()
    return stripped[1:-1].replace('""', '"') if _CSV_CELL.fullmatch(stripped) else cell


def _select(where: str, cells: Sequence[str], columns: Sequence[int]) -> list[str]:
    """Returns columns of a line; raises :class:`UserError` where it has fewer."""
    num_needed = max(columns) + 1
    if len(cells) < num_needed:
        raise UserError(
            f"{where}: {counted(len(cells), 'column')}, expected at least {num_needed}, "
            "separated by tabs; see --format, --label-column and --text-columns"
        )
    return [cells[column] for column in columns]


class Labels:
    """The labels of some data: their names in order, none for values."""

    def __init__(self, problem_type: ProblemType, names: Sequence[str] = ()) -> None:
        self.problem_type = problem_type
        self.names = list(names)
        self.index = {label: number for number, label in enumerate(names)}

    def encode(self, example: LabelledText) -> Tensor:
        """Returns what the data hold, int32: numbers of labels, of many labels each once, or the
        bits of a value.

        Raises:
            UserError: a label that is not known, or what is no number that can be predicted.
        """
        if self.problem_type is ProblemType.REGRESSION:
            return bits_of([_value(example)])
        for label in example.labels:
            if label not in self.index:
                raise UserError(
                    f"{example.where}: the label {label!r} is not among the {len(self.names)} "
                    "labels; fix it, list all labels in --labels FILE, or give --header if the "
                    "first line names the columns"
                )
        ids = [self.index[label] for label in example.labels]
        if self.problem_type.is_multilabel:
            ids = list(dict.fromkeys(ids))
        return torch.tensor(ids, dtype=torch.int32)


def _value(example: LabelledText) -> float:
    (written,) = example.labels
    try:
        value = float(written)
    except ValueError:
        value = float("nan")
    if not abs(value) <= MAX_VALUE:
        raise UserError(
            f"{example.where}: {written!r} is not a number from {-MAX_VALUE:g} to {MAX_VALUE:g}; "
            "fix it, or give --header if the first line names the columns"
        )
    return value


def read_labels(path: str, file_format: FileFormat, listed: bool) -> Labels:
    """Returns those of a file, none for values.

    Args:
        listed: the file has one a line, in their order; else examples, and they stand in the order
            of their characters.

    Raises:
        UserError: a label that is empty or there twice, or too few.
    """
    problem_type = file_format.problem_type
    if problem_type is ProblemType.REGRESSION:
        return Labels(problem_type)
    if listed:
        names = _listed_labels(path)
    else:
        names = sorted({label for example in file_format.read(path) for label in example.labels})
    if len(names) < (1 if problem_type.is_multilabel else 2):
        raise UserError(f"{path}: {len(names)} labels; at least two are needed")
    return Labels(problem_type, names)


def _listed_labels(path: str) -> list[str]:
    names: dict[str, None] = {}
    for number, line in enumerate(read_lines(path), start=1):
        name = line.strip()
        if not name or name in names:
            raise UserError(f"{path}: line {number}: the label {name!r} is empty or a duplicate")
        names[name] = None
    return list(names)
