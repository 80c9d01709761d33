"""What must stay as it is: patterns, and words of a list."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter

from ...errors import UserError
from ..arguments import strings
from .edits import splice

_FIRST_TOKEN = re.compile(r"\w+|[^\w\s]")

Span = tuple[int, int]
Edits = Sequence[tuple[int, int, str]]


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

    def finds_again(self, line: str, spans: Sequence[Span], edits: Edits) -> bool:
        """Whether all ``spans`` of a line are protected text in what edits beside them make."""
        remaining = self.spans(splice(line, edits))
        grown = [0, *accumulate(len(after) - (last - first) for first, last, after in edits)]
        # what is written at the border of a span stands before it, unless behind it
        ends = [last for _, last, _ in edits]
        shifts = [grown[bisect_right(ends, start)] for start, _ in spans]
        moved = zip(spans, shifts, strict=True)
        return all((start + shift, end + shift) in remaining for (start, end), shift in moved)


def refused(
    line: str,
    groups: Sequence[Edits],
    protections: Sequence[Protection],
    wanted: Collection[int] | None = None,
) -> set[int]:
    """Groups of edits by which protected text would change, or be such no longer.

    A span is touched when an edit changes a character of it or writes into it, or when the edits
    leave it alone and yet it is not found again in their outcome: ``12`` under ``[0-9]+`` is
    touched by a ``3`` written behind it. Of groups that touch one together only, the last is
    refused; all others together touch none.

    Args:
        groups: (start, end, new text) of edits that are made together; all are disjoint and in
            order.
        wanted: numbers of the groups that are to be made, None for all. Of others those are
            refused that change a span.

    Returns:
        numbers of groups.
    """
    if not groups:
        return set()
    spans = [(one, sorted(found)) for one in protections if (found := one.spans(line))]
    merged = _merged(span for _, found in spans for span in found)
    touching = {number for number, edits in enumerate(groups) if _meets(edits, merged)}
    made: list[int] = []

    def add(numbers: Sequence[int]) -> None:
        edits = [edit for number in (*made, *numbers) for edit in groups[number]]
        if all(one.finds_again(line, found, edits) for one, found in spans):
            made.extend(numbers)
        elif len(numbers) == 1:
            touching.update(numbers)
        else:  # most lines have no such group, so that one look is enough
            middle = len(numbers) // 2
            add(numbers[:middle])
            add(numbers[middle:])

    numbers = range(len(groups)) if wanted is None else sorted(wanted)
    add([number for number in numbers if number not in touching])
    return touching


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that overlap as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            start, end = found[-1][0], max(end, found.pop()[1])
        found.append((start, end))
    return found


def _meets(edits: Edits, spans: Sequence[Span]) -> bool:
    """Whether edits change a character of the spans, which are disjoint, or write into one."""
    for first, last, after in edits:
        place = bisect_left(spans, last, key=itemgetter(0)) - 1  # the last that begins before
        if place >= 0 and spans[place][1] > first and (last > first or after):
            return True
    return False


def _ends_word(line: str, end: int) -> bool:
    return end == len(line) or not all(c.isalnum() or c == "_" for c in line[end - 1 : end + 1])


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise UserError(f"protect={pattern!r} is no regular expression: {error}") from error
