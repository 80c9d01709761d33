"""Findings of a check: for people, for GitHub's annotations, as JSON, as SARIF."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lev_runtime.errors import printable
from lev_runtime.io.lines import json_line

from ..lines import Correction, Edit
from .identifiers import Identifier
from .sarif import as_sarif

#: Digits of a probability that are the same whichever words a model reads at once.
DIGITS = 6
#: GitHub's escapes in messages, and those of what it reads before them.
_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}


@dataclass(frozen=True)
class Finding:
    """A word of a file, or several side by side, that is to be another.

    line and column count from 1, columns in characters. before, after: without the punctuation that
    both have around them. edit: as it is made, or only reported; edit_column: where it begins.
    """

    file: str
    line: int
    column: int
    before: str
    after: str
    edit: Edit
    edit_column: int

    rule = "misspelling"

    @property
    def message(self) -> str:
        """``teh -> the (0.98)``."""
        after = printable(self.after) or "nothing"
        return f"{printable(self.before)} -> {after} ({self.edit.probability:.2f})"


def findings(file: str, line: int, correction: Correction) -> Iterator[Finding]:
    """The edits of a line of a file that are made, or only reported."""
    # a byte order mark is no text
    hidden = line == 1 and correction.source.startswith("\ufeff")
    for edit in correction.edits:
        if edit.applied or edit.reason == "reported":
            bare = edit.bare()
            spaces = len(bare.before) - len(bare.before.lstrip())  # that go with a word
            before, after, first = bare.before.strip(), bare.after.strip(), 1 - hidden
            column, edit_column = bare.offset + spaces + first, edit.offset + first
            yield Finding(file, line, column, before, after, edit, edit_column)


Reported = Finding | Identifier


def as_text(finding: Reported) -> str:
    """``file:line:column: word -> words (probability)``."""
    return f"{printable(finding.file)}:{finding.line}:{finding.column}: {finding.message}\n"


def as_github(finding: Reported) -> str:
    """A command of GitHub Actions, which shows the finding at its line."""
    file = _escaped(finding.file, _IN_PROPERTY)
    message = _escaped(finding.message, _IN_MESSAGE)
    end = finding.column + len(finding.before)
    place = f"file={file},line={finding.line},col={finding.column},endColumn={end}"
    command = "warning" if finding.edit else "notice"
    return f"::{command} {place},title=lev-correct::{message}\n"


def as_json(finding: Reported) -> str:
    """An object of what a finding has, in a line."""
    record = {name: value for name, value in vars(finding).items() if not name.startswith("edit")}
    if finding.edit:
        why = finding.edit.to_dict()["why"]
        record |= {"probability": round(finding.edit.probability, DIGITS), "why": why}
    return json_line(record)


def _each(shown: Callable[[Reported], str]) -> Callable[[Iterable[Reported]], str]:
    return lambda reported: "".join(map(shown, reported))


#: All findings of a run as one text.
FORMATS: Mapping[str, Callable[[Iterable[Reported]], str]] = {
    "text": _each(as_text),
    "github": _each(as_github),
    "json": _each(as_json),
    "sarif": as_sarif,
}


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)
