"""Labelled text from files: TSV, CoNLL-U, and a word and its tag a line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from ...errors import UserError, counted
from ...io.text_files import read_lines
from .problem_types import ProblemType, bits_of

#: a value whose square single precision can hold
LARGEST = 1e18
#: a document of CoNLL-2003; of CoNLL-U comments, words that other lines hold word by word, and
#: words that are not in the text
NO_WORD = {"columns": re.compile("-DOCSTART-"), "conllu": re.compile(r"#|[0-9]+[-.][0-9]+\t")}


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
    between the labels of one text.
    """

    kind: ProblemType
    form: str = "tsv"
    label: int | None = 0
    texts: Sequence[int] = (1,)
    header: bool = False
    separator: str = ","

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
        for number, line in enumerate(read_lines(path), start=1):
            if self.header and number == 1:
                continue
            where = f"{path}: line {number}"
            label, *texts = _cells(where, line.split("\t"), [self.label or 0, *self.texts])
            if self.kind is ProblemType.TAGGING:
                yield Labelled(where, texts[0].split(), label.split())
            elif self.kind.many:
                parts = (part.strip() for part in label.split(self.separator))
                yield Labelled(where, texts, [part for part in parts if part])
            else:
                yield Labelled(where, texts, [label.strip()])

    def _sentences(self, path: str) -> Iterator[Labelled]:
        """A word a line, and empty lines between sentences."""
        found = Labelled("", [], [])
        for number, line in enumerate(chain(read_lines(path), [""]), start=1):
            where = f"{path}: line {number}"
            if not line.strip():
                if found.texts:
                    yield found
                found = Labelled("", [], [])
            elif not NO_WORD[self.form].match(line):
                cells = line.split("\t") if "\t" in line else line.split()
                if self.label is None and len(cells) > 2:
                    raise UserError(f"{where}: {len(cells)} columns; --label-column N is the tag's")
                columns = [*self.texts, 1 if self.label is None else self.label]
                word, tag = map(str.strip, _cells(where, cells, columns))
                if not word or len(tag.split()) != 1 or (self.form == "conllu" and tag == "_"):
                    raise UserError(f"{where}: the word {word!r} has the tag {tag!r}; fix the line")
                found.where = found.where or where
                found.texts.append(word)
                found.labels.append(tag)


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
                    f"{LARGEST:g}"
                )
            return bits_of([value])
        found = [self.index.get(label, -1) for label in example.labels]
        if -1 in found:
            raise UserError(
                f"{example.where}: the label {example.labels[found.index(-1)]!r} is not among the "
                f"{len(self.names)} labels; fix it, or give --labels FILE with all of them"
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
    if listed:
        names = [line.strip() for line in read_lines(path)]
        first: dict[str, int] = {}
        for number, name in enumerate(names, start=1):
            if not name or first.setdefault(name, number) < number:
                raise UserError(
                    f"{path}: line {number}: the label {name!r} is empty or there twice"
                )
    else:
        names = sorted({label for example in layout.read(path) for label in example.labels})
    if len(names) < (1 if layout.kind.many else 2):
        raise UserError(f"{path}: {len(names)} labels; two at least can be told apart")
    return Labels(layout.kind, names)
