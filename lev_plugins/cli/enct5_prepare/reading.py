"""Labelled text from files: TSV, CoNLL-U, and a word and its tag a line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...data.text_files import read_lines
from ...errors import UserError
from ...models.enct5.kinds import Kind

#: column of a word and of its tags in CoNLL-U, from 0
CONLLU_WORD, CONLLU_TAGS = 1, {"upos": 3, "xpos": 4}
FORMATS = ("tsv", "conllu", "columns")


@dataclass
class Labelled:
    """One text with what is to be predicted of it.

    where: file and line, for messages. texts: one or two, or the words to be tagged.
    labels: as written; one for a class or a value.
    """

    where: str
    texts: list[str]
    labels: list[str]


@dataclass
class Layout:
    """How files are written.

    form: one of :data:`FORMATS`. label, texts: columns of a TSV, from 0. header: its first line
    names the columns. separator: between the labels of one text. tags: which of CoNLL-U's tags.
    """

    kind: Kind
    form: str = "tsv"
    label: int = 0
    texts: Sequence[int] = (1,)
    header: bool = False
    separator: str = ","
    tags: str = "upos"

    def read(self, path: str) -> Iterator[Labelled]:
        """The examples of a file in order.

        Raises:
            UserError: a line that is no example.
        """
        found = self._tsv(path) if self.form == "tsv" else self._columns(path)
        empty = True
        for example in found:
            empty = False
            self._check(example)
            yield example
        if empty:
            raise UserError(f"{path}: holds no examples; is --format {self.form} right?")

    def _check(self, example: Labelled) -> None:
        if self.kind is Kind.TAGGING:
            if len(example.texts) != len(example.labels):
                raise UserError(
                    f"{example.where}: {len(example.texts)} words and {len(example.labels)} tags; "
                    "there must be one tag a word"
                )
            if not example.texts:
                raise UserError(f"{example.where}: no words; remove the line")
        elif not all(text.strip() for text in example.texts):
            raise UserError(f"{example.where}: the text is empty; remove the line, or fill it")

    def _tsv(self, path: str) -> Iterator[Labelled]:
        columns = max(self.label, *self.texts) + 1
        for number, line in enumerate(read_lines(path), start=1):
            if self.header and number == 1:
                continue
            where, cells = f"{path}: line {number}", line.split("\t")
            if len(cells) < columns:
                raise UserError(
                    f"{where}: {len(cells)} columns, and {columns} are needed; columns are divided "
                    "by tabs, see --label-column and --text-columns"
                )
            texts = [cells[column] for column in self.texts]
            yield self._labelled(where, texts, cells[self.label])

    def _labelled(self, where: str, texts: list[str], label: str) -> Labelled:
        if self.kind is Kind.TAGGING:
            return Labelled(where, texts[0].split(), label.split())
        if self.kind.many:
            return Labelled(where, texts, [one for one in label.split(self.separator) if one])
        return Labelled(where, texts, [label])

    def _columns(self, path: str) -> Iterator[Labelled]:
        """Sentences with empty lines between them, a word a line."""
        conllu = self.form == "conllu"
        word_at, tag_at = (CONLLU_WORD, CONLLU_TAGS[self.tags]) if conllu else (0, 1)
        words: list[str] = []
        tags: list[str] = []
        start = 1
        for number, line in enumerate([*read_lines(path), ""], start=1):
            if line.strip() == "":
                if words:
                    yield Labelled(f"{path}: line {start}", words, tags)
                words, tags = [], []
                continue
            cells = line.split("\t") if "\t" in line else line.split()
            if conllu and (line.startswith("#") or not cells[0].isdecimal()):
                continue  # comments; ranges and empty nodes, whose words have lines of their own
            if len(cells) <= tag_at:
                raise UserError(
                    f"{path}: line {number}: {len(cells)} columns, and {tag_at + 1} are needed: "
                    + ("a line of CoNLL-U" if conllu else "a word and its tag")
                )
            start = start if words else number
            words.append(cells[word_at])
            tags.append(cells[tag_at])
