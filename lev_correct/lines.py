"""Lines as they are read, changes of them, and edits: changes of their words."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import commonprefix
from typing import Any, Literal, Self

from lev_runtime.text.words import WordEdit

from .text.units import APOSTROPHES, HYPHENS, Span, Unit

#: ``line[start:end]`` gives way to a text.
Patch = tuple[int, int, str]
#: A change of a line and its probability.
Chance = tuple[Patch, float]
#: What a model wants of a unit: edits of its words, in order, and the probability of each.
Answer = Mapping[WordEdit, float]
#: The word, or its beginning, that a text ends with, and the same where no escape is a part of it.
_LAST_WORD = re.compile(rf"[^\W_][{HYPHENS}\w{APOSTROPHES}\u0300-\u036f]*\Z")
_UNESCAPED = re.compile(rf"(?<!\\)(?<!\\f){_LAST_WORD.pattern}")
Reason = Literal["unknown", "protected", "length", "confidence", "reported"]


@dataclass
class Line:
    """A line of a text.

    written: as it stands there. text: as its words are read, of which all places are. origins:
    where each character of the text begins in ``written``. shown: as of :meth:`.Reader.forms`.
    number: in its text, from 0. skipped: whether it stays. words: where its words are. foreign: its
    parts in other languages, and what is hidden in its units. answers: the model's, one for each
    unit.
    """

    written: str
    text: str
    origins: Sequence[int]
    shown: str
    number: int
    is_code: bool
    skipped: bool
    words: Sequence[Span]
    units: Sequence[Unit]
    foreign: Sequence[Span]
    answers: Sequence[Answer | None] = field(default_factory=list)


@dataclass(frozen=True)
class Edit:
    """A word of a line, or several next to each other, that a model rewrote.

    offset: where it begins, in characters of the line, from 0. before, after: what stood there and
    what the model wants there; of words that come or go with the space next to them, and the other
    is empty. probability: in [0, 1]. applied: whether the corrected line has it. reason: why not:
    ``unknown`` (what the model cannot spell, shown as U+FFFD), ``protected``, ``length`` (it adds
    more characters than any correction that the model was tuned on), ``confidence``, or
    ``reported`` (a person is to make it: it would end a string, stands in a key, the file's kind is
    unknown, or the word is misspelt, and of several corrections none is sure).
    why: the largest terms of the probability's log-odds, by name, in nats (:mod:`.features`).
    """

    offset: int
    before: str
    after: str
    probability: float
    applied: bool = True
    reason: Reason | None = None
    why: tuple[tuple[str, float], ...] = ()

    @property
    def end(self) -> int:
        """Where it ends in the line as it was."""
        return self.offset + len(self.before)

    def bare(self) -> Self:
        """Returns the same change of the line without what stays around its words: of *(teh)*,
        *teh*."""
        if not (self.before.strip() and self.after.strip()):  # words that come or go, with a space
            return self
        start = _around(self.before, self.after, _UNESCAPED)
        before, after = self.before[start:], self.after[start:]
        end = _around(before[::-1], after[::-1], _LAST_WORD)
        before, after = before[: len(before) - end], after[: len(after) - end]
        if not (before and after):
            return self
        return replace(self, offset=self.offset + start, before=before, after=after)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        why = {name: round(term, 2) for name, term in self.why}
        return {"offset": self.offset, "length": len(self.before)} | vars(self) | {"why": why}


def _around(before: str, after: str, last_word: re.Pattern[str]) -> int:
    """Returns how many characters two texts begin with that are no part of a word that differs."""
    same = commonprefix([before, after])
    word = last_word.search(same)
    return word.start() if word else len(same)


@dataclass(frozen=True)
class Correction:
    """A line, what became of it, and all edits that the model wants, made or not, in order.

    unterminated: (start, end) in the line of units that stayed because the model's answer did not
    come to an end. code: whether the line was left alone as one of code (:mod:`.protection`).
    """

    source: str
    text: str
    edits: tuple[Edit, ...]
    unterminated: tuple[tuple[int, int], ...] = ()
    code: bool = False


def apply_edits(line: str, edits: Iterable[Edit]) -> str:
    """A line with those of its edits that are to be made."""
    return splice(line, ((edit.offset, edit.end, edit.after) for edit in edits if edit.applied))


def splice(text: str, changes: Iterable[Patch], start: int = 0) -> str:
    """``text[start:]`` with changes made: (start, end, new text), disjoint and in order."""
    parts = []
    for first, last, after in changes:
        parts += [text[start:first], after]
        start = last
    return "".join(parts) + text[start:]


def placed(line: str, start: int, end: int, edit: WordEdit) -> Patch:
    """An edit of the words of ``line[start:end]`` as a change of the line.

    Words that come or go take the space before them along, the first ones the space after.
    """
    words = [*re.compile(r"\S+").finditer(line, start, end)]
    begins = [word.start() for word in words]
    ends = [word.end() for word in words]
    after = " ".join(edit.words)
    if edit.words and edit.start < edit.end:
        return begins[edit.start], ends[edit.end - 1], after
    if edit.start:
        return ends[edit.start - 1], ends[edit.end - 1], after and f" {after}"
    if edit.words:
        return begins[0], begins[0], f"{after} "
    behind = begins[edit.end] if edit.end < len(words) else ends[-1]
    return begins[0], behind, ""


def whole_words(line: str, changes: Iterable[tuple[Patch, float]]) -> list[tuple[Patch, float]]:
    """Disjoint changes, in order, as changes of the words that they touch.

    Those of one word are one, as probable as the least probable. A word is a run of non-spaces; a
    byte order mark in front of a line belongs to none.
    """
    first = len(line) - len(line.removeprefix("\ufeff"))
    groups: list[tuple[int, int, list[tuple[Patch, float]]]] = []
    for change in changes:
        (start, end, _), _ = change
        if groups and start < groups[-1][1]:
            left, right, members = groups.pop()
            right = max(right, end)
        else:
            left, right, members = start, end, []
        if left < right or _spaceless(line[max(first, left - 1) : left + 1]):
            while not members and left > first and _spaceless(line[left - 1 : left + 1]):
                left -= 1
            while _spaceless(line[right - 1 : right + 1]):
                right += 1
        members.append(change)
        groups.append((left, right, members))
    patches = []
    for left, right, members in groups:
        after = splice(line[:right], (change for change, _ in members), left)
        if after != line[left:right]:
            patches.append(((left, right, after), min(chance for _, chance in members)))
    return patches


def _spaceless(both: str) -> bool:
    return len(both) == 2 and not any(map(str.isspace, both))


def overlaps(changes: Sequence[Chance], other: Chance) -> bool:
    """Returns whether one of disjoint changes, in order, touches what another one touches."""
    start, end, _ = other[0]
    number = bisect_right(changes, start, key=lambda change: change[0][1])
    return number < len(changes) and changes[number][0][0] < end


def between(changes: Sequence[Chance], start: int, end: int) -> Sequence[Chance]:
    """The disjoint changes, in order, that lie between two places."""
    first = bisect_left(changes, start, key=lambda change: change[0][0])
    return changes[first : bisect_right(changes, end, key=lambda change: change[0][1])]
