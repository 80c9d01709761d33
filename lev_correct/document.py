"""Texts whose lines are corrected in order: what they tell together."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .files.reader import TextReader
from .judge.judge import Judge
from .lines import Line
from .text.units import HYPHENS, ModelUnit

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

    def leave_divided_words(self, lines: Sequence[str], units: Sequence[list[ModelUnit]]) -> None:
        """Takes away the units of both halves of each word with a hyphen at the end of its line;
        ``lines``: the next ones."""
        for line, line_units in zip(lines, units, strict=True):
            divided = bool(_DIVIDED.match(line.rstrip()[-2:]))
            if divided and line_units and len(line[line_units[-1].end :].strip()) == 1:
                line_units.pop()
            begins = bool(line_units) and not any(map(str.isalnum, line[: line_units[0].start]))
            if self._divided and begins:
                line_units.pop(0)
            self._divided = divided


@dataclass(frozen=True)
class Text:
    """Lines that were read and are to be corrected, and the judge of their edits."""

    lines: Sequence[Line]
    document: Document | None
    judge: Judge


def groups(texts: Iterable[Text]) -> Iterator[list[Text]]:
    """Yields some texts at a time, of :data:`LINES_TOGETHER` lines or more but for the last."""
    group, lines = list[Text](), 0
    for text in texts:
        group.append(text)
        lines += len(text.lines)
        if lines >= LINES_TOGETHER:
            yield group
            group, lines = [], 0
    if group:
        yield group
