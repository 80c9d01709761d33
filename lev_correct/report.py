"""Reports of ``correct``: edits as JSON, a diff, counts."""

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self, TextIO

from lev_runtime.errors import counted, printable
from lev_runtime.io.lines import STANDARD_STREAM, json_line
from lev_runtime.io.output import whole_file
from lev_runtime.io.text_files import few

if TYPE_CHECKING:
    from .corrector import Correction

#: A line of code; such lines, at least, and their share, of which a note tells.
_CODE_LINE = re.compile(r"[;{}]\s*$|\):$|^\s*(?:#include|import|from|def|return)\b(?!.*[.!?]$)")
CODE_LINES, CODE_SHARE = 3, 1 / 3
_LIKE_CODE = (
    "standard input looks like code and was read as prose; lev-correct check --stdin-filename NAME "
    "reads its comments and strings"
)
_UNTERMINATED = "left as it was, in whole or in part, because the model's answer had no end"


def diff(first: int, done: Sequence["Correction"], ends: Sequence[bytes]) -> bytes:
    """The changed lines of a chunk as hunks of a unified diff without context.

    Args:
        first: number of the first line in its file.
        ends: line ends, empty for a last line without one.
    """
    parts = []
    for number, (correction, end) in enumerate(zip(done, ends, strict=True), start=first):
        if correction.text != correction.source:
            missing = "" if end else "\\ No newline at end of file\n"
            parts.append(f"@@ -{number} +{number} @@\n-{correction.source}\n{missing}")
            parts.append(f"+{correction.text}\n{missing}")
    return "".join(parts).encode("utf-8", "surrogateescape")


#: What a terminal shows in a colour: of a diff what goes and what comes; of findings, behind their
#: place, what fails no check, and the others.
_PLACE = rb"(?m)^([^{\x1b]+?:\d+:\d+: )"
_COLOURS = {
    rb"(?m)^()(-.*)": 31,
    rb"(?m)^()([+].*)": 32,
    _PLACE + rb"(.* [?] .*|.*, written|.* places?\))$": 33,
    _PLACE + rb"(.*)": 31,
}


def in_colour(text: bytes, when: str) -> bytes:
    """Returns a diff or findings as they are printed; ``when``: auto (https://no-color.org), always
    or never."""
    is_shown = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if when == "always" or (when == "auto" and is_shown and not os.environ.get("NO_COLOR")):
        for pattern, colour in _COLOURS.items():
            text = re.sub(pattern, b"\\1\x1b[%dm\\2\x1b[0m" % colour, text)
    return text


class Report:
    """Counts what was done, and writes every edit as a line of JSON.

    Args:
        edits: where to, if anywhere.
        named: whether files were given, whose names are told.
    """

    def __init__(self, edits: TextIO | None, named: bool) -> None:
        self.edits, self.named = edits, named
        self.file = STANDARD_STREAM
        self.line = self.lines = self.code = self.like_code = 0
        self.unterminated: dict[str, list[int]] = defaultdict(list)  # lines of each file
        self.left_out: dict[str, list[str]] = defaultdict(list)  # files of each kind

    @classmethod
    def opened(cls, edits: str | None, named: bool, stack: ExitStack) -> Self:
        """Returns a report with the file of its edits open for as long as ``stack`` is."""
        return cls(stack.enter_context(whole_file(edits)) if edits else None, named)

    def begin(self, file: str, left_out: str = "") -> None:
        """Begins a file; ``left_out``: its kind, where that is."""
        self.file, self.line = file, 0
        if left_out:
            self.left_out[left_out].append(file)

    def add(self, done: Sequence["Correction"]) -> None:
        """Notes the next lines."""
        for correction in done:
            self.line += 1
            self.lines += 1
            self.code += correction.code
            if self.file == STANDARD_STREAM:
                self.like_code += bool(_CODE_LINE.search(correction.source))
            if correction.unterminated:
                self.unterminated[self.file].append(self.line)
            if self.edits:
                place = {"file": self.file} if self.named else {}
                for edit in correction.edits:
                    record = {**place, "line": self.line, **edit.to_dict()}
                    self.edits.write(json_line(record))

    def notes(self) -> Iterator[str]:
        """Lines that were left alone."""
        if self.code:
            yield f"left alone as code: {counted(self.code, 'line')} (--protect none reads all)"
        yield from self.unfinished()
        yield from self.kinds()

    def unfinished(self) -> Iterator[str]:
        """Lines that the model's answer had no end of, in one note; code that was read as prose."""
        if self.like_code >= max(CODE_LINES, CODE_SHARE * self.lines):
            yield f"note: {_LIKE_CODE}"
        lines = [
            f"{file}:{line}" if self.named else line
            for file, numbers in self.unterminated.items()
            for line in numbers
        ]
        if lines:
            yield f"{_UNTERMINATED}: {counted(len(lines), 'line')} ({few(lines, 5)})"

    def kinds(self) -> Iterator[str]:
        """Which files were left out, by kind."""
        for kind, files in sorted(self.left_out.items()):
            number = counted(len(files), kind.removesuffix("s"))
            if kind.startswith("unknown"):
                number = f"{counted(len(files), 'file')} of {kind}"
            yield f"left out: {number}: {printable(few(files, 5))}"
