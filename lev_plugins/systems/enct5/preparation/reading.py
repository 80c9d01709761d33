"""Labelled text from files: TSV, CoNLL-U, and a word and its tag a line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from ....errors import UserError, counted
from ....io.text_files import read_lines
from ..problem_types import ProblemType, bits_of

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
    lines: where each label stands, if not all do there.
    """

    where: str
    texts: list[str]
    labels: list[str]
    lines: Sequence[str] = ()


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
        empty = True
        for example in self._tsv(path) if self.form == "tsv" else self._sentences(path):
            empty = False
            self._check(example)
            yield example
        if empty:
            raise UserError(f"{path}: holds no examples; is --format {self.form} right?")

    def _check(self, example: Labelled) -> None:
        words, labels = len(example.texts), len(example.labels)
        if self.kind is ProblemType.TAGGING:
            if words != labels or not words:
                raise UserError(f"{example.where}: {words} words and {labels} tags; one tag a word")
        elif not all(text.strip() for text in example.texts):
            raise UserError(f"{example.where}: the text is empty; remove the line, or fill it")
        if not all(example.labels):
            raise UserError(f"{example.where}: the label is empty; remove the line, or fill it")

    # a text a line ----------------------------------------------------------------------------

    def _tsv(self, path: str) -> Iterator[Labelled]:
        assert self.label is not None
        columns = max(self.label, *self.texts) + 1
        for number, line in enumerate(read_lines(path), start=1):
            if self.header and number == 1:
                continue
            where, cells = f"{path}: line {number}", line.split("\t")
            _need(where, cells, columns)
            yield self._labelled(where, [cells[at] for at in self.texts], cells[self.label])

    def _labelled(self, where: str, texts: list[str], label: str) -> Labelled:
        if self.kind is ProblemType.TAGGING:
            return Labelled(where, texts[0].split(), label.split())
        if self.kind.many:
            parts = (part.strip() for part in label.split(self.separator))
            return Labelled(where, texts, [part for part in parts if part])
        return Labelled(where, texts, [label.strip()])

    # a word a line ----------------------------------------------------------------------------

    def _sentences(self, path: str) -> Iterator[Labelled]:
        """Sentences with empty lines between them."""
        word = self._conllu_word if self.form == "conllu" else self._plain_word
        words: list[str] = []
        tags: list[str] = []
        lines: list[str] = []
        for number, line in enumerate(chain(read_lines(path), [""]), start=1):
            where = f"{path}: line {number}"
            found = word(where, line, len(words) + 1) if line.strip() else None
            if found is not None:
                text, tag = (one.strip() for one in found)
                if not text or len(tag.split()) != 1:
                    raise UserError(f"{where}: the word {text!r} has the tag {tag!r}; fix the line")
                words.append(text)
                tags.append(tag)
                lines.append(where)
            elif words and not line.strip():
                yield Labelled(lines[0], words, tags, lines)
                words, tags, lines = [], [], []

    def _conllu_word(self, where: str, line: str, place: int) -> tuple[str, str] | None:
        """A word and its tag; None for comments, ranges of words (1-2) and empty nodes (1.1).

        Args:
            place: number of the next word in its sentence, from 1.
        """
        cells, tag_at = line.split("\t"), CONLLU_TAGS[self.tags]
        if line.startswith("#") or _RANGE_OR_EMPTY.fullmatch(cells[0]):
            return None
        _need(where, cells, tag_at + 1)
        if cells[0] != str(place):
            raise UserError(
                f"{where}: word {place} is next, and this is {cells[0]!r}; an empty line ends a "
                "sentence"
            )
        if cells[tag_at] == "_":
            raise UserError(f"{where}: the word has no {self.tags} tag (_); see --tags")
        return cells[CONLLU_WORD], cells[tag_at]

    def _plain_word(self, where: str, line: str, place: int) -> tuple[str, str] | None:
        """A word and its tag, with tabs or spaces between them; None for a mark of a document."""
        cells = line.split("\t") if "\t" in line else line.split()
        if cells[0] == DOCUMENT:
            return None
        tag_at = 1 if self.label is None else self.label
        _need(where, cells, tag_at + 1)
        if self.label is None and len(cells) > 2:
            raise UserError(f"{where}: {len(cells)} columns; --label-column N is the tag's")
        return cells[0], cells[tag_at]


def _need(where: str, cells: Sequence[str], count: int) -> None:
    """Raises :class:`UserError` where a line has fewer columns."""
    if len(cells) < count:
        raise UserError(
            f"{where}: {counted(len(cells), 'column')}, and {count} are needed, with tabs between "
            "them; see --format, --label-column and --text-columns"
        )


# labels ---------------------------------------------------------------------------------------


class Labels:
    """What is known of the labels of some data: their names in order, none for values.

    Its methods raise :class:`UserError` with the line of what they refuse.
    """

    def __init__(self, kind: ProblemType, names: Sequence[str] = ()) -> None:
        self.kind, self.names = kind, list(names)
        self.index = {label: number for number, label in enumerate(names)}

    def ids(self, example: Labelled) -> list[int]:
        """Numbers of the labels; of many labels each once. One that is not known is refused."""
        for place, label in enumerate(example.labels):
            if label not in self.index:
                where = example.lines[place] if example.lines else example.where
                raise UserError(
                    f"{where}: the label {label!r} is not among the {len(self.names)} labels; fix "
                    "the line, or give --labels FILE with all of them"
                )
        found = [self.index[label] for label in example.labels]
        return list(dict.fromkeys(found)) if self.kind.many else found

    def value(self, example: Labelled) -> float:
        """The value; what is no number, or too large to be predicted, is refused."""
        (written,) = example.labels
        try:
            found = float(written)
        except ValueError:
            found = float("nan")
        if not abs(found) <= LARGEST:
            raise UserError(
                f"{example.where}: {written!r} is no number from {-LARGEST:g} to {LARGEST:g}"
            )
        return found

    def stored(self, example: Labelled) -> Tensor:
        """As the data hold them: numbers of labels, or the bits of a value, int32."""
        if self.kind is ProblemType.REGRESSION:
            return bits_of([self.value(example)])
        return torch.tensor(self.ids(example), dtype=torch.int32)


def listed_labels(path: str, layout: Layout) -> list[str]:
    """The lines of a file, without spaces around them.

    Raises:
        UserError: a line that is no label, one that is there twice, or too few.
    """
    found: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        label = line.strip()
        where = f"{path}: line {number}: the label {label!r}"
        if not label or "\t" in label or found.setdefault(label, number) != number:
            raise UserError(f"{where} is empty, there twice, or holds a tab; fix the line")
        if layout.kind is ProblemType.TAGGING and len(label.split()) > 1:
            raise UserError(f"{where} holds a space, which stands between tags")
        if layout.kind.many and layout.separator in label:
            raise UserError(
                f"{where} holds {layout.separator!r}, which stands between labels; give another "
                "--label-separator"
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
