"""CoNLL-U: a word a line and empty lines between sentences.

Lines are kept as they stand, to be written again with tags, and numbered, for messages. (The
library ``conllu`` does neither.)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lev_runtime.errors import UserError, counted

NUM_COLUMNS = 10
FORM, UPOS = 1, 3  #: columns, from 0
#: comments, words that other lines hold word by word, and words not in the text
_NO_WORD = re.compile(r"#|[0-9]+[-.][0-9]+\t")


@dataclass
class Sentence:
    """Lines up to an empty one, as they stand, and with it.

    lines: with their ends, if they were given with them. places: which of the lines hold words.
    rows: the columns of these. numbers: of these in the file, from 1.
    """

    lines: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """Returns the words in order."""
        return [row[FORM].strip() for row in self.rows]

    def tagged(self, tags: Sequence[str], column: int) -> str:
        """Returns the lines with these tags in a column, or after all others."""
        lines = list(self.lines)
        for place, row, tag in zip(self.places, self.rows, tags, strict=True):
            _, end = _split(lines[place])
            columns = [*row[:column], tag, *row[column + 1 :]]
            lines[place] = "\t".join(columns) + end
        return "".join(lines)


def read_sentences(lines: Iterable[str], where: str) -> Iterator[Sentence]:
    """Yields the sentences of a file, or of a stream as they come; those without words too.

    Args:
        where: the name of the file, for messages.

    Raises:
        UserError: a line without a word, or with more columns than CoNLL-U has.
    """
    sentence = Sentence()
    for number, line in enumerate(lines, start=1):
        sentence.lines.append(line)
        if not line.strip():
            yield sentence
            sentence = Sentence()
        elif not _NO_WORD.match(line):
            row = _split(line)[0].split("\t")
            place = f"{where}: line {number}"
            if len(row) > NUM_COLUMNS:
                columns = counted(len(row), "column")
                raise UserError(f"{place}: {columns}, where CoNLL-U has {NUM_COLUMNS}")
            if not "".join(row[FORM : FORM + 1]).strip():
                raise UserError(f"{place}: no word in column {FORM + 1}")
            sentence.places.append(len(sentence.lines) - 1)
            sentence.rows.append(row)
            sentence.numbers.append(number)
    if sentence.lines:
        yield sentence


def _split(line: str) -> tuple[str, str]:
    """Returns a line and its end."""
    body = line.rstrip("\r\n")
    return body, line[len(body) :]
