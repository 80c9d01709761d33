"""Findings as text: for people, for GitHub's annotations, as JSON, as SARIF."""

from collections.abc import Callable, Iterable, Mapping

from lev_runtime.errors import printable
from lev_runtime.io.lines import json_line

from .findings import Reported
from .sarif import as_sarif

#: Digits of a probability that are the same whichever words a model reads at once.
DIGITS = 6
#: GitHub's escapes in messages, and those of what it reads before them.
_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}


def as_text(finding: Reported) -> str:
    """``file:line:column: word -> words (probability)``."""
    return f"{printable(finding.file)}:{finding.line}:{finding.column}: {finding.message}\n"


def as_github(finding: Reported) -> str:
    """A command of GitHub Actions, which shows the finding at its line."""
    file = _escaped(finding.file, _IN_PROPERTY)
    message = _escaped(finding.message, _IN_MESSAGE)
    end = finding.column + len(finding.before)
    place = f"file={file},line={finding.line},col={finding.column},endColumn={end}"
    command = {"note": "notice"}.get(finding.level, finding.level)
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
