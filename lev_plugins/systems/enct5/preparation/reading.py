"""Labelled text from files: TSV, CoNLL-U, and a word and its tag a line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from ....errors import UserError
from ....io.text_files import read_lines
from ..problem_types import ProblemType

#: column of a word and of its tags in CoNLL-U, from 0
CONLLU_WORD, CONLLU_TAGS = 1, {"upos": 3, "xpos": 4}
FORMATS = ("tsv", "conllu", "columns")
#: what stands before a document in CoNLL-2003, in the place of a word
DOCUMENT = "-DOCSTART-"
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

    def place(self, label: int) -> str:
        """File and line of a label, for messages."""
        return self.lines[label] if self.lines else self.where


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
            if words != labels:
                raise UserError(
                    f"{example.where}: {words} words and {labels} tags; there must be one tag a "
                    "word"
                )
            if not words:
                raise UserError(f"{example.where}: no words; remove the line")
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
            if not line.strip():
                raise UserError(f"{where}: is empty; remove it")
            if len(cells) < columns:
                raise UserError(
                    f"{where}: {_columns(len(cells))}, and {columns} are needed; columns are "
                    "divided by tabs, see --label-column and --text-columns"
                )
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
            if line.strip():
                found = word(where, line, len(words) + 1)
                if found is not None:
                    words.append(_filled(where, "word", found[0]))
                    tags.append(_filled(where, "tag", found[1]))
                    lines.append(where)
            elif words:
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
        if len(cells) <= tag_at:
            raise UserError(
                f"{where}: {_columns(len(cells))}, and {tag_at + 1} are needed; columns of CoNLL-U "
                "are divided by tabs"
            )
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
        if self.label is None and len(cells) != 2:
            hint = "; --label-column N says which is the tag" if len(cells) > 2 else ""
            raise UserError(
                f"{where}: {_columns(len(cells))}, and 2 are needed, a word and its tag{hint}"
            )
        tag_at = 1 if self.label is None else self.label
        if len(cells) <= tag_at:
            raise UserError(
                f"{where}: {_columns(len(cells))}, and the tag is in column {tag_at + 1}; "
                "see --label-column"
            )
        return cells[0], cells[tag_at]


def _filled(where: str, name: str, cell: str) -> str:
    """A word, or a tag, which holds no spaces.

    Raises:
        UserError: there is none, or a tag holds spaces.
    """
    cell = cell.strip()
    if not cell:
        raise UserError(f"{where}: the {name} is empty; fill it")
    if name == "tag" and len(cell.split()) > 1:
        raise UserError(f"{where}: the tag {cell!r} holds a space, which stands between tags")
    return cell


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
