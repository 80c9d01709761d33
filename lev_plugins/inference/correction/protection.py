"""What must stay as it is: patterns, and words of a list."""

import re
from collections.abc import Collection, Iterable, Iterator
from os.path import commonprefix

from ...errors import UserError
from ..arguments import strings

_FIRST_TOKEN = re.compile(r"\w+|[^\w\s]")

Span = tuple[int, int]


class Protection:
    """Finds what an edit may not touch.

    Args:
        patterns: regular expressions of Python's ``re``; what they match is protected.
        words: words or phrases, protected where they stand as whole words, in this spelling.

    Raises:
        UserError: no lists of strings, a pattern that is none.
    """

    def __init__(self, patterns: Iterable[str] = (), words: Iterable[str] = ()) -> None:
        self.patterns = [_compiled(one) for one in strings("protect", "protect", patterns)]
        # by their first token, longest first: a line is then read once, however long the list
        self.words: dict[str, list[str]] = {}
        for word in {one.strip() for one in strings("protect_words", "protect_words", words)}:
            if first := _FIRST_TOKEN.match(word):
                self.words.setdefault(first.group(), []).append(word)
        for some in self.words.values():
            some.sort(key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self.patterns or self.words)

    def spans(self, line: str) -> set[Span]:
        """Where protected text stands in a line, in characters; none is empty."""
        every = (match for pattern in self.patterns for match in pattern.finditer(line))
        return {match.span() for match in every if match.group()} | set(self._words(line))

    def _words(self, line: str) -> Iterator[Span]:
        for match in _FIRST_TOKEN.finditer(line) if self.words else ():
            for word in self.words.get(match.group(), ()):
                end = match.start() + len(word)
                if line.startswith(word, match.start()) and _ends_word(line, end):
                    yield match.start(), end
                    break


def touched(spans: Collection[Span], start: int, before: str, after: str) -> bool:
    """Whether an edit changes a character of a span, or writes into one or onto its border.

    Args:
        start: where ``before`` stands. What both begin and end with is not touched.
    """
    if not spans:
        return False
    same = len(commonprefix([before, after]))
    alike = len(commonprefix([before[same:][::-1], after[same:][::-1]]))
    new = after[same : len(after) - alike]
    i, j = start + same, start + len(before) - alike
    return any(
        (i < end and j > first)
        or (i == j == end and not new[0].isspace())
        or (i == j == first and not new[-1].isspace())
        for first, end in spans
    )


def _ends_word(line: str, end: int) -> bool:
    return end == len(line) or not all(c.isalnum() or c == "_" for c in line[end - 1 : end + 1])


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise UserError(f"protect={pattern!r} is no regular expression: {error}") from error
