"""A word a line and empty lines between sentences: CoNLL-U, and columns as those of CoNLL-2003."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from ...errors import UserError, counted

CONLLU, COLUMNS = "conllu", "columns"
CONLLU_COLUMNS = 10
UPOS = 3  #: the column, from 0, in which ``_`` is no value
#: of CoNLL-U comments, words that other lines hold word by word, and words not in the text
_NO_CONLLU_WORD = re.compile(r"#|[0-9]+[-.][0-9]+\t")
_DOCUMENT = "-DOCSTART-"  # of CoNLL-2003
_COMMENT = re.compile(r"#\s*(?:id|sent_id|sent|newdoc|newpar|doc|text)\b|#.* = ")


@dataclass
class Sentence:
    """Lines up to an empty one, as they stand without their ends.

    where: the name of their file, for messages. number: of the first line, from 1. places: which of
    the lines hold words. rows: the columns of these.
    """

    where: str
    number: int
    lines: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def place(self, word: int) -> str:
        """File and line of a word, counted from 0."""
        return f"{self.where}: line {self.number + self.places[word]}"

    def words(self, column: int) -> list[str]:
        """What stands in a column.

        Raises:
            UserError: a line without it, or with nothing there.
        """
        words = []
        for number, row in enumerate(self.rows):
            word = row[column].strip() if column < len(row) else ""
            if not word:
                raise UserError(f"{self.place(number)}: no word in column {column + 1}")
            words.append(word)
        return words

    def tagged(self, tags: Sequence[str], column: int) -> list[str]:
        """The lines with these tags in a column, or behind all others."""
        lines = list(self.lines)
        for place, row, tag in zip(self.places, self.rows, tags, strict=True):
            separator = "\t" if "\t" in lines[place] or len(row) == 1 else " "
            lines[place] = separator.join([*row[:column], tag, *row[column + 1 :]])
        return lines


def read_sentences(lines: Iterable[str], form: str, where: str) -> Iterator[Sentence]:
    """The sentences of a file, or of a stream as they come; those without words among them.

    Args:
        lines: without their ends.
        form: :data:`CONLLU` or :data:`COLUMNS`.
        where: the name of the file, for messages.

    Raises:
        UserError: a line with more columns than CoNLL-U has, or than the first word of columns.
    """
    width = CONLLU_COLUMNS if form == CONLLU else 0
    sentence = Sentence(where, 1)
    for number, line in enumerate(chain(lines, [None]), start=1):
        if line is not None:
            sentence.lines.append(line)
            if line.strip():
                continue
        sentence.places = _word_places(sentence.lines, form, width)
        sentence.rows = [_columns(sentence.lines[place]) for place in sentence.places]
        for word, row in enumerate(sentence.rows):
            width = width or len(row)
            if len(row) > width:
                raise UserError(
                    f"{sentence.place(word)}: {counted(len(row), 'column')}, where "
                    f"{'CoNLL-U has' if form == CONLLU else 'the first word has'} {width}"
                )
        yield sentence
        sentence = Sentence(where, number + 1)


def _columns(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else line.split()


def _word_places(lines: Sequence[str], form: str, width: int) -> list[int]:
    """Which lines hold words; ``width``: columns of the words before, 0 where there are none.

    A line of columns that begins with ``#`` is a comment before the first word, where it says
    ``# id`` or the like, or has another number of columns than the words.
    """
    filled = [place for place, line in enumerate(lines) if line.strip()]
    if form == CONLLU:
        return [place for place in filled if not _NO_CONLLU_WORD.match(lines[place])]
    filled = [place for place in filled if not lines[place].startswith(_DOCUMENT)]
    plain = [place for place in filled if not lines[place].startswith("#")]
    if plain:
        width = len(_columns(lines[plain[0]]))
    before = [place for place in filled if not plain or place < plain[0]]
    comments = {place for place in before if _is_comment(lines[place], width)}
    return [place for place in filled if place not in comments]


def _is_comment(line: str, width: int) -> bool:
    if not line.startswith("#"):
        return False
    return bool(_COMMENT.match(line)) or (width > 0 and len(_columns(line)) != width)
