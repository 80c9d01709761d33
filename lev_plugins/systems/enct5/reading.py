"""Labelled text from files: TSV, CoNLL-U, and a word and its tag a line."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lev_runtime.errors import UserError, counted
from lev_runtime.io.text_files import read_lines

from .problem_types import ProblemType, bits_of
from .sentences import CONLLU, UPOS, Sentence, read_sentences

#: a value whose square single precision can hold
MAX_VALUE = 1e18
#: a cell as CSV quotes it: the quotes inside are doubled
_IN_QUOTES = re.compile(r'"(?:[^"]|"")*"')
#: words of the names that columns usually have
_LABEL_NAMES = frozenset(
    "label labels class classes category target tag tags sentiment score rating intent topic "
    "emotion polarity stars".split()
)
_TEXT_NAMES = frozenset(
    "text texts sentence sentence1 sentence2 sentences question question1 question2 premise "
    "hypothesis review content body comment tweet title words tokens document utterance query "
    "message".split()
)
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass
class LabelledText:
    """One text with what is to be predicted of it.

    where: file and line, for messages. texts: one or two, or the words to be tagged.
    labels: as written, without spaces around them; one for a class or a value, one a word for tags.
    """

    where: str
    texts: list[str]
    labels: list[str]

    @property
    def is_first_line(self) -> bool:
        """Whether a header may have been taken for it."""
        return self.where.endswith(": line 1")

    @property
    def header_hint(self) -> str:
        """The end of a message about it."""
        return "; give --header if the line names the columns" if self.is_first_line else ""


@dataclass
class FileFormat:
    """How files are written.

    name: tsv, conllu or columns. label, texts: columns, from 0; of ``columns`` the label is None
    where it is the second of two. header: the first line of a TSV names its columns. separator:
    between the labels of one text. width: columns of a TSV, None for as many as the first line has.
    """

    problem_type: ProblemType
    name: str = "tsv"
    label: int | None = 0
    texts: Sequence[int] = (1,)
    header: bool = False
    separator: str = ","
    width: int | None = None

    def read(self, path: str) -> Iterator[LabelledText]:
        """The examples of a file in order.

        Raises:
            UserError: a line that is no example, or no example at all.
        """
        is_empty = True
        examples = self._read_tsv(path) if self.name == "tsv" else self._read_tagged(path)
        for example in examples:
            self._check(example)
            is_empty = False
            yield example
        if is_empty:
            raise UserError(f"{path} has no examples; is --format {self.name} right?")

    def _check(self, example: LabelledText) -> None:
        num_words = len(example.texts)
        num_labels = len(example.labels)
        if self.problem_type is ProblemType.TAGGING:
            if num_words != num_labels or not num_words:
                raise UserError(
                    f"{example.where}: {num_words} words and {num_labels} tags; give one "
                    "tag per word"
                )
        elif not all(map(str.strip, [*example.texts, *example.labels])):
            raise UserError(f"{example.where}: text or label is empty; remove the line")

    def _read_tsv(self, path: str) -> Iterator[LabelledText]:
        """A text a line."""
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
            if not self.header or number > 1:
                label, *texts = _select(where, cells, [self.label or 0, *self.texts])
                yield self._labelled_text(where, label, texts)

    def _labelled_text(self, where: str, label: str, texts: list[str]) -> LabelledText:
        """From the cells of a line."""
        if self.problem_type is ProblemType.TAGGING:
            return LabelledText(where, texts[0].split(), label.split())
        label, *texts = _without_csv_quotes([label, *texts])
        labels = [label.strip()]
        if self.problem_type.is_multilabel:
            stripped = map(str.strip, label.split(self.separator))
            labels = [name for name in stripped if name]
        return LabelledText(where, texts, labels)

    def header_label(self, path: str) -> str:
        """The label's cell of the first line of a TSV."""
        cells = next(read_lines(path), "").split("\t")
        label = self.label or 0
        (name,) = _without_csv_quotes(cells[label : label + 1] or [""])
        return name.strip()

    def _read_tagged(self, path: str) -> Iterator[LabelledText]:
        """A word a line, and empty lines between sentences."""
        (column,) = self.texts
        for sentence in read_sentences(read_lines(path), self.name, path):
            if sentence.rows:
                labels = [self._tag(sentence, number) for number in range(len(sentence.rows))]
                words = sentence.words(column)
                yield LabelledText(sentence.line_of_word(0), words, labels)

    def _tag(self, sentence: Sentence, number: int) -> str:
        """The tag of a word of a sentence."""
        where = sentence.line_of_word(number)
        row = sentence.rows[number]
        label = self.label
        if label is None:
            if len(row) > 2:
                raise UserError(
                    f"{where}: {len(row)} columns; name the tag's with --label-column N"
                )
            label = 1
        cells = _select(where, row, [*self.texts, label])
        word, tag = map(str.strip, cells)
        is_untagged = self.name == CONLLU and label == UPOS and tag == "_"
        if not word or len(tag.split()) != 1 or is_untagged:
            raise UserError(f"{where}: the word {word!r} has the tag {tag!r}; fix the line")
        return tag


def _without_csv_quotes(cells: Sequence[str]) -> list[str]:
    """A label and its texts, as a CSV file means them.

    A line is quoted as in CSV where its label stands in quotes, or where a text does that holds
    doubled quotes. Other texts in quotes are what somebody said, and keep them.
    """
    label, *texts = [cell.strip() for cell in cells]
    has_quoted_label = _IN_QUOTES.fullmatch(label)
    has_doubled_quotes = any('""' in text[1:-1] and _IN_QUOTES.fullmatch(text) for text in texts)
    if not has_quoted_label and not has_doubled_quotes:
        return list(cells)
    return [_unquoted(cell) for cell in cells]


def _unquoted(cell: str) -> str:
    """A cell of a line that is quoted as in CSV."""
    stripped = cell.strip()
    if not _IN_QUOTES.fullmatch(stripped):
        return cell
    return stripped[1:-1].replace('""', '"')


def _select(where: str, cells: Sequence[str], columns: Sequence[int]) -> list[str]:
    """Some columns of a line; raises :class:`UserError` where it has fewer."""
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
        """As the data hold them, int32: numbers of labels, of many labels each once, or the bits of
        a value.

        Raises:
            UserError: a label that is not known, or what is no number that can be predicted.
        """
        if self.problem_type is ProblemType.REGRESSION:
            return bits_of([_value(example)])
        for label in example.labels:
            if label not in self.index:
                raise UserError(
                    f"{example.where}: the label {label!r} is not among the "
                    f"{len(self.names)} labels; fix it, or list all labels in --labels "
                    f"FILE{example.header_hint}"
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
            f"{example.where}: {written!r} is not a number from {-MAX_VALUE:g} to "
            f"{MAX_VALUE:g}{example.header_hint}"
        )
    return value


def read_labels(path: str, file_format: FileFormat, listed: bool) -> Labels:
    """Those of a file, none for values.

    Args:
        listed: the file has one a line, in their order; else examples, and they stand in the order
            of their characters.

    Raises:
        UserError: a label that is empty or there twice, or too few.
    """
    problem_type = file_format.problem_type
    if problem_type is ProblemType.REGRESSION:
        return Labels(problem_type)
    names = _listed_labels(path) if listed else _labels_of_examples(path, file_format)
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


def _labels_of_examples(path: str, file_format: FileFormat) -> list[str]:
    first = next(file_format.read(path))
    counts = Counter[str]()
    for example in file_format.read(path):
        counts.update(example.labels)
    if file_format.name == "tsv" and not file_format.header and names_columns(first, counts):
        raise UserError(
            f"{first.where}: this looks like a header; give --header, or --labels FILE if "
            f"{' '.join(first.labels)!r} is a label"
        )
    header_label = file_format.header_label(path) if file_format.header else None
    if header_label in counts:
        raise UserError(
            f"{path}: line 1: {header_label!r} is also a label of other lines, so this is "
            "no header; leave out --header"
        )
    return sorted(counts)


def names_columns(first: LabelledText, counts: Counter[str]) -> bool:
    """Whether the first line of a TSV seems to name the columns: label and text are one word each,
    the label is that of no other line, and one of them is a usual name, or no other label stands
    alone.

    Args:
        counts: of the labels of all lines.
    """
    if not first.is_first_line or len(first.labels) != 1:
        return False
    (label,) = first.labels
    texts = [text.strip() for text in first.texts]
    if counts[label] > 1 or not all(map(_NAME.fullmatch, [label, *texts])):
        return False
    if label.lower() in _LABEL_NAMES or any(text.lower() in _TEXT_NAMES for text in texts):
        return True
    other_counts = [count for other, count in counts.items() if other != label]
    return len(other_counts) > 1 and min(other_counts) > 1
