"""Texts whose lines are corrected in order: what they tell together."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .files.reader import TextReader
from .judge.judge import Judge
from .lines import Line
from .text.units import HYPHENS

#: Lines whose units are answered together, of texts that are corrected together.
LINES_TOGETHER = 10_000
_DIVIDED = re.compile(rf"[^\W\d_][{HYPHENS}]")


class Document(TextReader):
    """Keeps what the lines of one text tell together; they are read in order, some at a time.

    Args:
        judge: of its edits.
        knows, path, text: as of :class:`.TextReader`.
    """

    def __init__(
        self,
        judge: Judge,
        knows: Callable[[str], bool],
        path: str | None = None,
        text: Sequence[str] = (),
    ) -> None:
        super().__init__(knows, path, text)
        self.judge = judge
        self._divided = False  # a word, at the end of the line before

    def leave_divided_words(self, lines: Sequence[str], read: Iterable[Line]) -> None:
        """Takes away the units of both halves of each word with a hyphen at the end of its line;
        ``lines``: the next ones, ``read``: those of them that have words."""
        units = {line.number: line.units for line in read}
        for number, line in enumerate(lines, self.lines_read - len(lines)):
            divided, line_units = bool(_DIVIDED.match(line.rstrip()[-2:])), units.get(number, [])
            if divided and line_units and len(line[line_units[-1].end :].strip()) == 1:
                line_units.pop()
            begins = bool(line_units) and not any(map(str.isalnum, line[: line_units[0].start]))
            if self._divided and begins:
                line_units.pop(0)
            self._divided = divided


@dataclass(frozen=True)
class Text:
    """The next lines of a text as they are written, which of them are code; by their numbers among
    these those that may change, as they are read; the judge of their edits."""

    lines: Sequence[str]
    code: Sequence[bool]
    read: Mapping[int, Line]
    document: Document | None
    judge: Judge


def groups(texts: Iterable[Any]) -> Iterator[list[Any]]:
    """Yields some texts at a time, of :data:`LINES_TOGETHER` ``lines`` or more but for the last."""
    group, lines = list[Any](), 0
    for text in texts:
        group.append(text)
        lines += len(text.lines)
        if lines >= LINES_TOGETHER:
            yield group
            group, lines = [], 0
    if group:
        yield group
