"""A word a line and empty lines between sentences: CoNLL-U, and columns as those of CoNLL-2003.

Lines are kept as they stand, to be written again with tags, and numbered, for messages. (The
library ``conllu`` does neither, and it reads no other columns.)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from lev_runtime.errors import UserError, counted

CONLLU, COLUMNS = "conllu", "columns"
NUM_CONLLU_COLUMNS = 10
UPOS = 3  #: the column, from 0, in which ``_`` is no value
#: of CoNLL-U comments, words that other lines hold word by word, and words not in the text
_NO_CONLLU_WORD = re.compile(r"#|[0-9]+[-.][0-9]+\t")
_DOCUMENT = "-DOCSTART-"  # of CoNLL-2003
_COMMENT = re.compile(r"#\s*(?:id|sent_id|sent|newdoc|newpar|doc|text)\b|#.* = ")


@dataclass
class Sentence:
    """Lines up to an empty one, as they stand, their ends apart.

    where: the name of their file, for messages. first_line: its number, from 1. word_lines: which
    of the lines hold words. rows: the columns of these.
    """

    where: str
    first_line: int
    lines: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    word_lines: list[int] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def line_of_word(self, word: int) -> str:
        """File and line of a word, counted from 0, for messages."""
        return f"{self.where}: line {self.first_line + self.word_lines[word]}"

    def words(self, column: int) -> list[str]:
        """The words of a column.

        Raises:
            UserError: a line without it, or with nothing there.
        """
        words = []
        for number, row in enumerate(self.rows):
            word = row[column].strip() if column < len(row) else ""
            if not word:
                raise UserError(f"{self.line_of_word(number)}: no word in column {column + 1}")
            words.append(word)
        return words

    def tagged(self, tags: Sequence[str], column: int) -> list[str]:
        """The lines with these tags in a column, or behind all others, and with their ends."""
        lines = list(self.lines)
        for place, row, tag in zip(self.word_lines, self.rows, tags, strict=True):
            separator = "\t" if "\t" in lines[place] or len(row) == 1 else " "
            columns = [*row[:column], tag, *row[column + 1 :]]
            lines[place] = separator.join(columns)
        return [line + end for line, end in zip(lines, self.ends, strict=True)]


def read_sentences(lines: Iterable[str], file_format: str, where: str) -> Iterator[Sentence]:
    """The sentences of a file, or of a stream as they come; those without words among them.

    Args:
        lines: with their ends, where these are wanted again.
        file_format: :data:`CONLLU` or :data:`COLUMNS`.
        where: the name of the file, for messages.

    Raises:
        UserError: a line with more columns than CoNLL-U has, or than the first word of columns.
    """
    width = NUM_CONLLU_COLUMNS if file_format == CONLLU else 0
    owner = "CoNLL-U has" if file_format == CONLLU else "the first word has"
    sentence = Sentence(where, 1)
    for number, line in enumerate(chain(lines, [None]), start=1):
        if line is not None:
            body = line.rstrip("\r\n")
            sentence.lines.append(body)
            sentence.ends.append(line[len(body) :])
            if body.strip():
                continue
        sentence.word_lines = _word_lines(sentence.lines, file_format, width)
        sentence.rows = [_columns(sentence.lines[place]) for place in sentence.word_lines]
        for word, row in enumerate(sentence.rows):
            width = width or len(row)
            if len(row) > width:
                place = sentence.line_of_word(word)
                columns = counted(len(row), "column")
                raise UserError(f"{place}: {columns}, where {owner} {width}")
        yield sentence
        sentence = Sentence(where, number + 1)


def _columns(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else line.split()


def _word_lines(lines: Sequence[str], file_format: str, width: int) -> list[int]:
    """Which lines hold words.

    A line of columns that begins with ``#`` is a comment before the first word, where it says
    ``# id`` or the like, or has another number of columns than the words.

    Args:
        width: columns of the words before, 0 where there are none.
    """
    filled = [place for place, line in enumerate(lines) if line.strip()]
    if file_format == CONLLU:
        return [place for place in filled if not _NO_CONLLU_WORD.match(lines[place])]
    filled = [place for place in filled if not lines[place].startswith(_DOCUMENT)]
    first_word = len(lines)
    for place in filled:
        if not lines[place].startswith("#"):
            first_word = place
            width = len(_columns(lines[place]))
            break
    return [
        place for place in filled if place >= first_word or not _is_comment(lines[place], width)
    ]


def _is_comment(line: str, width: int) -> bool:
    """Whether a line before the first word is a comment, of words with ``width`` columns."""
    if not line.startswith("#"):
        return False
    has_other_width = width > 0 and len(_columns(line)) != width
    return has_other_width or bool(_COMMENT.match(line))
