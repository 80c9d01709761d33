"""Findings of a check, a line each: for people, for GitHub's annotations, as JSON."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from os.path import commonprefix

from lev_runtime.errors import printable
from lev_runtime.io.lines import json_line

from ..lines import Correction, Edit
from ..text.units import APOSTROPHES, HYPHENS

#: The word, or its beginning, that a text ends with, and the same where no escape is a part of it.
_LAST_WORD = re.compile(rf"[^\W_][{HYPHENS}\w{APOSTROPHES}]*\Z")
_UNESCAPED = re.compile(rf"(?<!\\)(?<!\\f){_LAST_WORD.pattern}")
#: GitHub's escapes in messages, and those of what it reads before them.
_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}


@dataclass(frozen=True)
class Finding:
    """A word of a file, or several side by side, that is to be another.

    line and column count from 1, columns in characters. before, after: without the punctuation that
    both have around them. probability: of the edit, in [0, 1]. why: as of :class:`.Edit`.
    """

    file: str
    line: int
    column: int
    before: str
    after: str
    probability: float
    why: Mapping[str, float] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """``teh -> the (0.98)``."""
        after = printable(self.after) or "nothing"
        return f"{printable(self.before)} -> {after} ({self.probability:.2f})"


def findings(file: str, line: int, correction: Correction) -> Iterator[Finding]:
    """The edits of a line of a file that are made, or only reported."""
    # a byte order mark is no text
    hidden = line == 1 and correction.source.startswith("\ufeff")
    for edit in correction.edits:
        if edit.applied or edit.reason == "reported":
            start, before, after = _bare(edit)
            why = edit.to_dict()["why"]
            yield Finding(file, line, start - hidden + 1, before, after, edit.probability, why)


def _bare(edit: Edit) -> tuple[int, str, str]:
    """Where the words of an edit begin, and they and the new ones without what both have around
    them; words that come or go without the spaces that come or go with them."""
    before, after = edit.before, edit.after
    if not before.strip() or not after.strip():
        spaces = len(before) - len(before.lstrip())
        return edit.offset + spaces, before.strip(), after.strip()
    start = _around(before, after, _UNESCAPED)
    before, after = before[start:], after[start:]
    end = _around(before[::-1], after[::-1], _LAST_WORD)
    bare_before = before[: len(before) - end]
    bare_after = after[: len(after) - end]
    if bare_before and bare_after:
        return edit.offset + start, bare_before, bare_after
    return edit.offset, edit.before, edit.after


def _around(before: str, after: str, last_word: re.Pattern[str]) -> int:
    """How many characters two texts begin with that are no part of a word that differs."""
    same = commonprefix([before, after])
    word = last_word.search(same)
    return word.start() if word else len(same)


def as_text(finding: Finding) -> str:
    """``file:line:column: word -> words (probability)``."""
    place = f"{printable(finding.file)}:{finding.line}:{finding.column}"
    return f"{place}: {finding.message}\n"


def as_github(finding: Finding) -> str:
    """A command of GitHub Actions, which shows the finding at its line."""
    file = _escaped(finding.file, _IN_PROPERTY)
    message = _escaped(finding.message, _IN_MESSAGE)
    end = finding.column + len(finding.before)
    place = f"file={file},line={finding.line},col={finding.column},endColumn={end}"
    return f"::warning {place},title=lev-correct::{message}\n"


def as_json(finding: Finding) -> str:
    """An object of the fields of :class:`Finding`, in a line."""
    return json_line(asdict(finding))


FORMATS: Mapping[str, Callable[[Finding], str]] = {
    "text": as_text,
    "github": as_github,
    "json": as_json,
}


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)
