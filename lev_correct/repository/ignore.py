"""Comments in a text that say which of its lines stay as they are.

``lev-correct: ignore`` stands for its own line; alone in a line, but for the signs of a comment, it
stands for the block below, to the next empty line; ``lev-correct: ignore-start`` and
``lev-correct: ignore-end`` stand around as many lines as there are.
"""

import re
from collections.abc import Sequence

_MARK = re.compile("lev-correct:")
_COMMENT = re.compile(r"lev-correct:\s*ignore(?:[- ](?P<edge>start|begin|end))?(?![\w-])")
_LETTER = re.compile(r"[^\W_]")


class IgnoreComments:
    """Reads the comments of one text, whose lines come in order, some at a time."""

    def __init__(self) -> None:
        self._line = 0
        self._pending = False  # a comment has named the block that comes
        self._in_block = False
        #: number of the line where lines began that no comment has ended
        self.open_since: int | None = None

    def ignored(self, lines: Sequence[str]) -> list[bool]:
        """Returns which of the next lines stay as they are."""
        is_open = self._pending or self._in_block or self.open_since is not None
        if not is_open and not any(map(_MARK.search, lines)):
            self._line += len(lines)
            return [False] * len(lines)
        return list(map(self._is_ignored, lines))

    def _is_ignored(self, line: str) -> bool:
        self._line += 1
        edges = [comment["edge"] for comment in _COMMENT.finditer(line)]
        if edges:
            ignored = True
            self._follow(line, edges)
        else:
            ignored = self._in_ignored_block(line)
        return ignored or self.open_since is not None

    def _follow(self, line: str, edges: Sequence[str | None]) -> None:
        """Notes what the comments of a line say of the lines after it."""
        for edge in edges:
            if edge == "end":
                self.open_since = None
            elif edge:
                self.open_since = self._line
            elif not _LETTER.search(_COMMENT.sub("", line)):
                self._pending = True

    def _in_ignored_block(self, line: str) -> bool:
        blank = not line.strip()
        if blank:
            self._in_block = False
        elif self._pending:
            self._pending, self._in_block = False, True
        return self._in_block
