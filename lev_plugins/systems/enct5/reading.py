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

#: column of a word and of its tags in CoNLL-U, from 0
CONLLU_WORD, CONLLU_TAGS = 1, {"upos": 3, "xpos": 4}
FORMATS = ("tsv", "conllu", "columns")
#: what stands before a document in CoNLL-2003, in the place of a word
DOCUMENT = "-DOCSTART-"
#: a value whose square single precision can hold
LARGEST = 1e18
#: words that other lines hold word by word, and words that are not in the text
_RANGE_OR_EMPTY = re.compile(r"[0-9]+(-|\.)[0-9]+")


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

    form: one of :data:`FORMATS`. label, texts: columns of a TSV, from 0; of ``columns`` the tag's
    alone, None where there are two. header: its first line names the columns. separator: between
    the labels of one text. tags: which of CoNLL-U's tags.
    """

    kind: ProblemType
    form: str = "tsv"
    label: int | None = 0
    texts: Sequence[int] = (1,)
    header: bool = False
    separator: str = ","
    tags: str = "upos"

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
        assert self.label is not None
        for number, line in enumerate(read_lines(path), start=1):
            if self.header and number == 1:
                continue
            where, cells = f"{path}: line {number}", line.split("\t")
            _need(where, cells, max(self.label, *self.texts) + 1)
            texts, label = [cells[at] for at in self.texts], cells[self.label]
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
            cells = self._word(where, line, len(found.texts) + 1) if line.strip() else None
            if cells is not None:
                text, tag = (one.strip() for one in cells)
                if not text or len(tag.split()) != 1:
                    raise UserError(f"{where}: the word {text!r} has the tag {tag!r}; fix the line")
                found.where = found.where or where
                found.texts.append(text)
                found.labels.append(tag)
            elif found.texts and not line.strip():
                yield found
                found = Labelled("", [], [])

    def _word(self, where: str, line: str, place: int) -> tuple[str, str] | None:
        """A word and its tag, in CoNLL-U or with tabs or spaces between them.

        None for comments, ranges of words (1-2), empty nodes (1.1) and marks of a document.

        Args:
            place: number of the next word in its sentence, from 1.
        """
        conllu = self.form == "conllu"
        cells = line.split("\t") if conllu or "\t" in line else line.split()
        left_out = line.startswith("#") or _RANGE_OR_EMPTY.fullmatch(cells[0])
        if left_out if conllu else cells[0] == DOCUMENT:
            return None
        tag_at = 1 if self.label is None else self.label
        word_at, tag_at = (CONLLU_WORD, CONLLU_TAGS[self.tags]) if conllu else (0, tag_at)
        _need(where, cells, tag_at + 1)
        if conllu and (cells[0] != str(place) or cells[tag_at] == "_"):
            raise UserError(
                f"{where}: word {place} is next, with a tag, and this is {cells[0]!r} with "
                f"{cells[tag_at]!r}; an empty line ends a sentence, and --tags names the tags"
            )
        if not conllu and self.label is None and len(cells) > 2:
            raise UserError(f"{where}: {len(cells)} columns; --label-column N is the tag's")
        return cells[word_at], cells[tag_at]


def _need(where: str, cells: Sequence[str], count: int) -> None:
    """Raises :class:`UserError` where a line has fewer columns."""
    if len(cells) < count:
        raise UserError(
            f"{where}: {counted(len(cells), 'column')}, and {count} are needed, with tabs between "
            "them; see --format, --label-column and --text-columns"
        )


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


def listed_labels(path: str, layout: Layout) -> list[str]:
    """The lines of a file, without spaces around them.

    Raises:
        UserError: a line that is no label, one that is there twice, or too few.
    """
    between = layout.separator if layout.kind.many else "\t"
    if layout.kind is ProblemType.TAGGING:
        between = " "
    found: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        label = line.strip()
        twice = found.setdefault(label, number) != number
        if not label or twice or "\t" in label or between in label:
            raise UserError(
                f"{path}: line {number}: the label {label!r} is empty, there twice, or holds what "
                f"stands between labels ({between!r}) or columns; fix the line"
            )
    return _enough(list(found), layout.kind, path)


def found_labels(path: str, layout: Layout) -> list[str]:
    """All labels of the examples of a file, in the order of their characters."""
    found = {label for example in layout.read(path) for label in example.labels}
    return _enough(sorted(found), layout.kind, path)


def _enough(labels: list[str], kind: ProblemType, path: str) -> list[str]:
    if len(labels) < (1 if kind.many else 2):
        raise UserError(f"{path}: {len(labels)} labels; two at least can be told apart")
    return labels
