"""Reads the lines of one text in order: which are code, and each as its words are read."""

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from lev_runtime.io.lines import STANDARD_STREAM

from .escapes import REST, without_rests
from .file_kinds import PROSE, kind_of
from .markup import Span

_FENCE = re.compile(r"[\ufeff >]*(?P<mark>`{3,}|~{3,})(?P<told>.*)")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_PROMPT = re.compile(r"\s*(?:>>>|\.\.\.|\$) ")
#: A line of Python after its prompt, which mails quote by, too.
_DOCTEST = re.compile(r"\s*>>> (?:.*[(=\[]|(?:from|import) |['\"\d])")
#: A line as its words are read, and where each of its characters stands in it as it is written.
Form = tuple[str, Sequence[int]]


class TextReader:
    """Reads the lines of one text in order, some at a time.

    Args:
        knows: whether a word exists.
        path: the name of its file, where it has one.
        text: all of its lines; one of Markdown, by its path, is then read by its grammar.
    """

    def __init__(
        self,
        knows: Callable[[str], bool],
        path: str | None = None,
        text: Sequence[str] = (),
    ) -> None:
        self._grammar = None
        self._named = bool(path) and path != STANDARD_STREAM
        if path and self._named and text and (kind := kind_of(path, text)) != PROSE:
            from .grammar import read_grammar  # slow to import

            self._grammar = read_grammar(path, kind, text, knows)
        self.lines_read = 0  # so far
        self._fence, self._blank, self._indented, self._doctest = "", False, False, False

    def code_lines(self, lines: Sequence[str]) -> list[bool]:
        """Returns which of the next lines are code."""
        first = self.lines_read
        self.lines_read += len(lines)
        if self._grammar is None:
            return list(map(self._is_code, lines))
        pairs = zip(self._grammar.code[first : self.lines_read], lines, strict=True)
        return [mark or bool(_PROMPT.match(line)) for mark, line in pairs]

    def forms(self, forms: Sequence[Form]) -> tuple[list[Form], list[str]]:
        """Returns the lines that were read last, with the characters that their escapes mean; and
        as their words are read, each as long: of Markdown with spaces for its markup.

        Args:
            forms: each line, and where its characters stand.
        """
        if self._grammar is None:
            return [*forms], [text for text, _ in forms]
        shown = self._grammar.shown[self.lines_read - len(forms) : self.lines_read]
        if not any(REST in line for line in shown):
            return [*forms], [*shown]
        meant = [_meant(*form, line) for form, line in zip(forms, shown, strict=True)]
        return meant, [line.replace(REST, "") for line in shown]

    def fitted(self, number: int, line: str, patch: tuple[int, int, str]) -> str | None:
        """The new text of a change of the line of that number as it is written there
        (:mod:`.places`); None where it does not fit, or the file is only reported on."""
        grammar = self._grammar
        if grammar is None or self.left_out:
            return None if grammar else patch[2]

        from .places import fitted

        def written(column: int) -> str:
            place = self._place(number, column)
            return next((mark for start, end, mark in grammar.strings if start <= place < end), "'")

        return fitted(line, patch, written)

    def is_key(self, number: int, start: int, end: int) -> bool:
        """Returns whether a part of the line of that number touches a key (:mod:`.keys`)."""
        if not self._keys:
            return False
        begins, ends = self._place(number, start), self._place(number, end)
        return any(first < ends and begins < last for first, last in self._keys)

    def _place(self, number: int, column: int) -> int:
        """Returns where a character of the line of that number stands in its text as written."""
        shown = self._grammar.shown if self._grammar else ()
        _, columns = without_rests(shown[number])
        return sum(len(line) + 1 for line in shown[:number]) + columns[column]

    @cached_property
    def _keys(self) -> Sequence[Span]:
        return self._grammar.keys() if self._grammar else ()

    @property
    def left_out(self) -> str:
        """The kind of a file whose comments alone are read."""
        return self._grammar.left_out if self._grammar else ""

    def _is_code(self, line: str) -> bool:
        """Returns whether the next line is code in Markdown: a fence or between fences, indented by
        four spaces or a tab after an empty line, after a prompt, or what Python answers there."""
        mark = _FENCE.fullmatch(line.rstrip())
        if self._fence:
            if mark and mark["mark"].startswith(self._fence) and not mark["told"].strip():
                self._fence = ""
            return True
        if mark and "`" not in mark["told"] and (mark["mark"][0] == "`" or self._blank):
            self._fence = mark["mark"]  # a row of ~ below a line is a heading of other markups
            return True
        blank = not line.strip()
        if not blank:
            indented = bool(_INDENTED.match(line)) and not self._named
            self._indented = indented and (self._blank or self._indented)
        self._blank = blank
        self._doctest = not blank and (self._doctest or bool(_DOCTEST.match(line)))
        return not blank and (self._indented or self._doctest or bool(_PROMPT.match(line)))


def _meant(text: str, origins: Sequence[int], shown: str) -> Form:
    """Returns a line with the characters that its escapes mean, which are shown."""
    if REST not in shown:
        return text, origins
    _, places = without_rests(shown)
    pairs = zip(places, places[1:], strict=False)
    letters = (shown[start] if end - start > 1 else text[start] for start, end in pairs)
    return "".join(letters), [origins[place] for place in places]
