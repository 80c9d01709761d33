"""Labelled text from files: TSV, CoNLL-U, and a word and its tag a line."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import UserError, counted
from ...io.text_files import read_lines
from .problem_types import ProblemType, bits_of
from .sentences import CONLLU, UPOS, read_sentences

#: a value whose square single precision can hold
LARGEST = 1e18
#: a cell as CSV quotes it, with a quote inside
_QUOTED = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')
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
class Labelled:
    """One text with what is to be predicted of it.

    where: file and line, for messages. texts: one or two, or the words to be tagged.
    labels: as written, without spaces around them; one for a class or a value, one a word for tags.
    """

    where: str
    texts: list[str]
    labels: list[str]


@dataclass
class Layout:
    """How files are written.

    form: tsv, conllu or columns. label, texts: columns, from 0; of ``columns`` the label is None
    where it is the second of two. header: the first line of a TSV names its columns. separator:
    between the labels of one text. width: columns of a TSV, None for as many as the first line has.
    """

    kind: ProblemType
    form: str = "tsv"
    label: int | None = 0
    texts: Sequence[int] = (1,)
    header: bool = False
    separator: str = ","
    width: int | None = None

    def read(self, path: str) -> Iterator[Labelled]:
        """The examples of a file in order.

        Raises:
            UserError: a line that is no example, or no example at all.
        """
        example = None
        for example in self._tsv(path) if self.form == "tsv" else self._sentences(path):
            words, labels = len(example.texts), len(example.labels)
            if self.kind is ProblemType.TAGGING:
                if words != labels or not words:
                    raise UserError(
                        f"{example.where}: {words} words and {labels} tags; one tag a word"
                    )
            elif not all(one.strip() for one in [*example.texts, *example.labels]):
                raise UserError(f"{example.where}: text or label is empty; remove the line")
            yield example
        if example is None:
            raise UserError(f"{path}: holds no examples; is --format {self.form} right?")

    def _tsv(self, path: str) -> Iterator[Labelled]:
        """A text a line."""
        width = self.width
        for number, line in enumerate(read_lines(path), start=1):
            where, cells = f"{path}: line {number}", line.split("\t")
            width = width or len(cells)
            if any(cell.strip() for cell in cells[width:]):
                raise UserError(
                    f"{where}: {counted(len(cells), 'column')}, where {width} are expected; write "
                    "spaces for tabs in a text, or see --label-column and --text-columns"
                )
            if self.header and number == 1:
                continue
            label, *texts = _cells(where, cells, [self.label or 0, *self.texts])
            if self.kind is ProblemType.TAGGING:
                yield Labelled(where, texts[0].split(), label.split())
                continue
            _refuse_quotes(where, label, texts)
            if self.kind.many:
                parts = (part.strip() for part in label.split(self.separator))
                yield Labelled(where, texts, [part for part in parts if part])
            else:
                yield Labelled(where, texts, [label.strip()])

    def header_label(self, path: str) -> str:
        """What the first line of a TSV has in the column of the label."""
        cells = next(read_lines(path), "").split("\t")
        label = self.label or 0
        return cells[label].strip() if label < len(cells) else ""

    def _sentences(self, path: str) -> Iterator[Labelled]:
        """A word a line, and empty lines between sentences."""
        (column,) = self.texts
        for sentence in read_sentences(read_lines(path), self.form, path):
            labels = []
            for number, row in enumerate(sentence.rows):
                where = sentence.place(number)
                if self.label is None and len(row) > 2:
                    raise UserError(f"{where}: {len(row)} columns; --label-column N is the tag's")
                columns = [column, 1 if self.label is None else self.label]
                word, tag = map(str.strip, _cells(where, row, columns))
                untagged = self.form == CONLLU and self.label == UPOS and tag == "_"
                if not word or len(tag.split()) != 1 or untagged:
                    raise UserError(f"{where}: the word {word!r} has the tag {tag!r}; fix the line")
                labels.append(tag)
            if labels:
                yield Labelled(sentence.place(0), sentence.words(column), labels)


def _refuse_quotes(where: str, label: str, texts: Sequence[str]) -> None:
    """Raises :class:`UserError` for cells in quotes that are CSV's and no text."""
    label = label.strip()
    quoted = len(label) > 1 and label[0] == label[-1] == '"'
    if quoted or any(map(_QUOTED.fullmatch, map(str.strip, texts))):
        raise UserError(
            f"{where}: a cell is in quotes, as of CSV, and they would be part of the text; write "
            "cells without them"
        )


def _cells(where: str, cells: Sequence[str], wanted: Sequence[int]) -> list[str]:
    """Some columns of a line; raises :class:`UserError` where it has fewer."""
    if len(cells) <= max(wanted):
        raise UserError(
            f"{where}: {counted(len(cells), 'column')}, and {max(wanted) + 1} are needed, with "
            "tabs between them; see --format, --label-column and --text-columns"
        )
    return [cells[at] for at in wanted]


class Labels:
    """What is known of the labels of some data: their names in order, none for values."""

    def __init__(self, kind: ProblemType, names: Sequence[str] = ()) -> None:
        self.kind, self.names = kind, list(names)
        self.index = {label: number for number, label in enumerate(names)}

    def stored(self, example: Labelled) -> Tensor:
        """As the data hold them, int32: numbers of labels, of many labels each once, or the bits of
        a value.

        Raises:
            UserError: a label that is not known, or what is no number that can be predicted.
        """
        if self.kind is ProblemType.REGRESSION:
            try:
                value = float(example.labels[0])
            except ValueError:
                value = float("nan")
            if not abs(value) <= LARGEST:
                raise UserError(
                    f"{example.where}: {example.labels[0]!r} is no number from {-LARGEST:g} to "
                    f"{LARGEST:g}{_header_hint(example)}"
                )
            return bits_of([value])
        found = [self.index.get(label, -1) for label in example.labels]
        if -1 in found:
            raise UserError(
                f"{example.where}: the label {example.labels[found.index(-1)]!r} is not among the "
                f"{len(self.names)} labels; fix it, or give --labels FILE with all of them"
                f"{_header_hint(example)}"
            )
        found = list(dict.fromkeys(found)) if self.kind.many else found
        return torch.tensor(found, dtype=torch.int32)


def known_labels(path: str, layout: Layout, listed: bool) -> Labels:
    """Those of a file, none for values.

    Args:
        listed: the file has one a line, in their order; else examples, and they stand in the order
            of their characters.

    Raises:
        UserError: a label that is empty or there twice, or too few.
    """
    if layout.kind is ProblemType.REGRESSION:
        return Labels(layout.kind)
    first_line = layout.header_label(path) if layout.header and not listed else None
    if listed:
        names = [line.strip() for line in read_lines(path)]
        first: dict[str, int] = {}
        for number, name in enumerate(names, start=1):
            if not name or first.setdefault(name, number) < number:
                raise UserError(
                    f"{path}: line {number}: the label {name!r} is empty or there twice"
                )
    else:
        opening = next(layout.read(path))
        counts = Counter(label for example in layout.read(path) for label in example.labels)
        names = sorted(counts)
        if layout.form == "tsv" and not layout.header and names_columns(opening, counts):
            raise UserError(
                f"{opening.where}: these look like the names of the columns; give --header, or "
                f"--labels FILE where {' '.join(opening.labels)!r} is a label"
            )
        if first_line in counts:
            raise UserError(
                f"{path}: line 1: {first_line!r} is a label of other lines and names no column; "
                "leave out --header"
            )
    if len(names) < (1 if layout.kind.many else 2):
        raise UserError(f"{path}: {len(names)} labels; two at least can be told apart")
    return Labels(layout.kind, names)


def _header_hint(example: Labelled) -> str:
    first = example.where.endswith(": line 1")
    return "; give --header if the line names the columns" if first else ""


def names_columns(first: Labelled, counts: Counter[str]) -> bool:
    """Whether the first line of a TSV seems to name the columns: label and text are one word each,
    the label is that of no other line, and one of them is a usual name, or no other label stands
    alone.

    counts: of the labels of all lines.
    """
    if not first.where.endswith(": line 1") or len(first.labels) != 1:
        return False
    cells = [*first.labels, *first.texts]
    if counts[first.labels[0]] > 1 or not all(map(_NAME.fullmatch, map(str.strip, cells))):
        return False
    usual = first.labels[0].lower() in _LABEL_NAMES
    usual = usual or any(text.strip().lower() in _TEXT_NAMES for text in first.texts)
    others = [count for label, count in counts.items() if label != first.labels[0]]
    return usual or (len(others) > 1 and min(others) > 1)
