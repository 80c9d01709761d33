"""Texts whose lines are corrected in order: which are code, and each as its words are read."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lev_runtime.io.lines import STANDARD_STREAM

from .files.file_kinds import PROSE, kind_of
from .files.keys import is_key
from .files.markup import APOSTROPHES, HYPHENS, Knows, Span, differing_part
from .files.names import CHECKED, EXPECTED, Names
from .judge.judge import Judge, inside
from .lines import QUOTED, Change, Line

#: Lines whose units are answered together, of texts that are corrected together.
LINES_TOGETHER = 10_000
_DIVIDED = re.compile(rf"[^\W\d_][{HYPHENS}]")
_FENCE = re.compile(r"[\ufeff >]*(?P<mark>`{3,}|~{3,})(?P<told>.*)")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_PROMPT = re.compile(r"\s*(?:>>>|\.\.\.|\$) ")
#: A line of Python after its prompt, which mails quote by, too.
_DOCTEST = re.compile(r"\s*>>> (?:.*[(=\[]|(?:from|import) |['\"\d])")
#: What an edit of source code neither brings nor takes; a mark that is not inside a word.
_ODD = re.compile(rf"[^{HYPHENS}{APOSTROPHES}\u0300-\u036f\w ,.!?]|_")
_MARK = re.compile(f"[{HYPHENS}{APOSTROPHES}]")
_LOOSE_MARK = re.compile(rf"(?<![^\W_]){_MARK.pattern}|{_MARK.pattern}(?!\w)")
#: A value that Java puts into a text in which an apostrophe quotes; what a word has around it.
_FORMATTED, _EDGES = re.compile(r"\{\d[,}]"), re.compile(r"\A[\W_]+|[\W_]+\Z")


class Document:
    """Reads the lines of one text in order, some at a time; keeps what they tell together.

    Args:
        judge: of its edits.
        knows: whether a word exists.
        path: the name of its file, where it has one.
        text: all of its lines; by its path, they are then read by a grammar.
        has_code: whether some of its lines may be code.
        names: what the files of its run name; by default its own text does.
    """

    def __init__(
        self,
        judge: Judge,
        knows: Knows,
        path: str | None = None,
        text: Sequence[str] = (),
        has_code: bool = True,
        names: Names | None = None,
    ) -> None:
        self.judge, self._has_code, self._grammar = judge, has_code, None
        self._path, self._lines = path or "", text
        self.names = names or Names([(self._path, text)])
        #: Words of which the names of the run were asked.
        self.sought: set[str] = set()
        self._named = bool(path) and path != STANDARD_STREAM
        if path and self._named and text and has_code and (kind := kind_of(path, text)) != PROSE:
            from .files.grammar import read_grammar  # slow to import

            self._grammar = read_grammar(path, kind, text, knows)
        self.lines_read = 0  # so far
        self._fence, self._blank, self._indented, self._doctest = "", False, False, False
        self._divided = False  # a word, at the end of the line before

    def read(self, lines: Sequence[str]) -> tuple[Sequence[bool], Sequence[str]]:
        """Returns of the next lines which are code, and each as its words are read, as long as it
        is: with spaces for markup and signs of code."""
        first = self.lines_read
        self.lines_read += len(lines)
        if self._grammar is None:
            return [self._has_code and self._is_code(line) for line in lines], lines
        code = self._grammar.code[first : self.lines_read]
        is_code = [
            mark or bool(_PROMPT.match(line)) for mark, line in zip(code, lines, strict=True)
        ]
        return is_code, self._grammar.shown[first : self.lines_read]

    def fits(self, line: Line, change: Change) -> bool:
        """Returns whether a change of a line may be written: it would end no string, changes no
        code, no key (:mod:`.keys`) and nothing that a file of the run names (:mod:`.names`), and
        the file is not one that is only reported on."""
        (start, end, after, _), grammar = change, self._grammar
        before, text, literal = line.text[start:end], line.text, None
        if grammar:
            same, old, new = differing_part(before, after)
            is_loose = _LOOSE_MARK.search(after[max(same - 1, 0) : same + len(new) + 1])
            is_code = _ODD.search(old + new) or (_MARK.search(old + new) and is_loose)
            escape = text[max(start - 2, 0) : start]  # \temperature, but not \tteh
            if self.left_out or is_code or escape == "\\" + after[:1] != "\\" + before[:1]:
                return False
            place = sum(len(other) + 1 for other in grammar.shown[: line.number])
            span = place + start, place + end
            if not {*old, *new}.isdisjoint(APOSTROPHES):
                quoted = [match.span() for match in QUOTED.finditer(text)]
                is_quoted = _touches((start, end), quoted) or _FORMATTED.search(text)
                if is_quoted or _touches(span, grammar.strings):
                    return False
            if grammar.literals is not None:
                literal = next((at for at in grammar.literals if _touches(span, [at])), None)
                if not literal:
                    return not CHECKED.search(text)
                text = "\n".join(self._lines)
                if is_key(text, literal, grammar.kind):
                    return False
                text = text[slice(*literal)]
        word = _EDGES.sub("", before.lower())
        if not (self._named and word):
            return True
        self.sought.add(word)
        return not (EXPECTED.search(self._path) or self.names.has(word, text, bool(literal)))

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

    def leave_divided_words(self, lines: Sequence[str], read: Iterable[Line]) -> None:
        """Takes away both halves of each word with a hyphen at the end of its line; ``lines``: the
        next ones, ``read``: those of them that have words."""
        rows = {line.number: line for line in read}
        for number, line in enumerate(lines, self.lines_read - len(lines)):
            divided, row = bool(_DIVIDED.match(line.rstrip()[-2:])), rows.get(number)
            if row and row.words and (divided or self._divided):
                ends = divided and len(line[row.words[-1][1] :].strip()) == 1
                begins = self._divided and not any(map(str.isalnum, line[: row.words[0][0]]))
                row.words = row.words[begins : len(row.words) - ends]
                row.units = [unit for unit in row.units if inside(unit.start, row.words)]
            self._divided = divided


def _touches(span: Span, others: Iterable[Span]) -> bool:
    """Returns whether one of other spans has a character of this one."""
    return any(first < span[1] and span[0] < last for first, last in others)


@dataclass(frozen=True)
class Text:
    """The next lines of a text as they are written, which of them are code; by their numbers among
    these those that may change, as they are read."""

    lines: Sequence[str]
    code: Sequence[bool]
    read: Mapping[int, Line]
    document: Document


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
