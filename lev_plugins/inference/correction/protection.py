"""What must stay as it is: patterns, and words of a list."""

import re
from collections.abc import Iterable, Iterator

from ...errors import UserError

_FIRST_TOKEN = re.compile(r"\w+|[^\w\s]")

Span = tuple[int, int]


class Protection:
    """Finds what an edit may not touch.

    Args:
        patterns: regular expressions of Python's ``re``; what they match is protected.
        words: words or phrases, protected where they stand as whole words, in this spelling.

    Raises:
        UserError: a pattern that is none.
    """

    def __init__(self, patterns: Iterable[str] = (), words: Iterable[str] = ()) -> None:
        if isinstance(patterns, str) or isinstance(words, str):
            raise UserError("protected patterns and words are lists of texts, not a single text")
        self.patterns = [_compiled(pattern) for pattern in patterns]
        # by their first token, longest first: a line is then read once, however long the list
        self.words: dict[str, list[str]] = {}
        for word in {word.strip() for word in words}:
            if first := word if word.isalnum() else _first_token(word):
                self.words.setdefault(first, []).append(word)
        for some in self.words.values():
            some.sort(key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self.patterns or self.words)

    def spans(self, line: str) -> set[Span]:
        """Where protected text stands in a line, in characters; none is empty."""
        found = {
            match.span()
            for pattern in self.patterns
            for match in pattern.finditer(line)
            if match.group()
        }
        return found | set(self._words(line))

    def _words(self, line: str) -> Iterator[Span]:
        if not self.words:
            return
        for match in _FIRST_TOKEN.finditer(line):
            for word in self.words.get(match.group(), ()):
                end = match.start() + len(word)
                if line.startswith(word, match.start()) and _ends_word(line, end):
                    yield match.start(), end
                    break

    def touched(self, line: str, edits: Iterable[tuple[int, int, str]]) -> bool:
        """Whether protected text of a line would change, or be protected text no longer.

        A span is touched when an edit changes a character of it or writes into it, or when the
        edits leave it alone and yet it is not found again in their outcome: ``12`` under
        ``[0-9]+`` is touched by a ``3`` written behind it.

        Args:
            edits: (start, end, new text), disjoint and in order, all made together.
        """
        edits = list(edits)
        before = self.spans(line)
        if not before:
            return False
        for start, end in before:
            for first, last, after in edits:
                if first < end and last > start and (last > first or after):
                    return True
        outcome, place = [], 0
        for first, last, after in edits:
            outcome += [line[place:first], after]
            place = last
        remaining = self.spans("".join(outcome) + line[place:])
        for start, end in before:
            # what is written at the border of a span stands before it, unless behind it
            shift = sum(len(after) - (b - a) for a, b, after in edits if b <= start)
            if (start + shift, end + shift) not in remaining:
                return True
        return False


def _first_token(text: str) -> str:
    found = _FIRST_TOKEN.match(text)
    return found.group() if found else ""


def _ends_word(line: str, end: int) -> bool:
    return end == len(line) or not (_is_word(line[end - 1]) and _is_word(line[end]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise UserError(f"--protect {pattern!r} is no regular expression: {error}") from error
