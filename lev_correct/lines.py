"""Lines as they are read, changes of them, and edits: changes of their words."""

import re
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from os.path import commonprefix
from typing import Any, Literal, NamedTuple

from lev_runtime.text.words import WordEdit

from .text.units import APOSTROPHES, HYPHENS, ModelUnit, Span


class Change(NamedTuple):
    """``line[start:end]`` gives way to a text; probability: in [0, 1]."""

    start: int
    end: int
    after: str
    probability: float = 1.0


#: What a model wants of a unit: edits of its words, in order, and the probability of each.
Answer = Mapping[WordEdit, float]
#: The word, or its beginning, that a text ends with.
_LAST_WORD = re.compile(rf"[^\W_][{HYPHENS}\w{APOSTROPHES}\u0300-\u036f]*\Z")
#: Probability from which on an edit that is not made is shown as a doubt: 389 of 483 unlisted words
#: that people corrected are seen (at 0.2: 303), and four marks more in 10,000 right words.
WORTH = 0.02
Reason = Literal[
    "unknown", "protected", "foreign", "mentioned", "length", "confidence", "unsure", "reported"
]
#: An apostrophe after a word, and nothing of a word after it.
_LOOSE = re.compile(rf"[{APOSTROPHES}](?![\w{APOSTROPHES}])")
#: What stands between apostrophes, to the end where none closes it.
QUOTED = re.compile(
    r"(?<![\w'])['\u2018](?=[^\s'])(?:[^'\u2019]|(?<=\w)['\u2019](?=\w))*+(?:['\u2019]|\Z)"
)


@dataclass(slots=True)
class Line:
    """A line of a text.

    written: as it stands there. text: as its words are read, of which all places are. origins:
    where each character of the text begins in ``written``. shown: as of :meth:`.Document.read`.
    number: in its text, from 0. words: where its words are. is_respaced: whether more than units
    may change. stays: of each character of the text why no edit changes it, as of
    :func:`.protection.mark`. answers: the model's, one for each unit.
    """

    written: str
    text: str
    origins: Sequence[int]
    shown: str
    number: int
    words: Sequence[Span]
    units: list[ModelUnit]
    is_respaced: bool
    stays: bytearray = field(default_factory=bytearray)
    answers: Sequence[Answer | None] = ()


@dataclass(frozen=True)
class Edit:
    """A word of a line, or several next to each other, that a model rewrote, without the
    punctuation around them.

    offset: where it begins, in characters of the line, from 0. before, after: what stood there and
    what the model wants there; of words that come or go with the space next to them, and the other
    is empty. probability: in [0, 1]. applied: whether the corrected line has it. reason: why not:
    ``unknown`` (what the model cannot spell, shown as U+FFFD), ``protected``, ``foreign`` (in
    another language), ``mentioned`` (the line speaks of the misspelling), ``length`` (it adds more
    characters than any correction that the model was tuned on), ``confidence``, ``unsure`` (the
    word is probably wrong, and a person is to choose: of several corrections none is sure, or it is
    a word that exists), or ``reported`` (a person is to make it: it would end a string, stands in
    a key, or the file's kind is unknown).
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

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        why = {name: round(term, 2) for name, term in self.why}
        return {"offset": self.offset, "length": len(self.before)} | vars(self) | {"why": why}


class Correction(NamedTuple):
    """A line, what became of it, and all edits that the model wants, made or not, in order.

    unterminated: (start, end) in the line of units that stayed because the model's answer did not
    come to an end. code: whether the line was left alone as one of code (:mod:`.protection`).
    """

    source: str
    text: str
    edits: tuple[Edit, ...]
    unterminated: tuple[Span, ...] = ()
    code: bool = False


def apply_edits(line: str, edits: Iterable[Edit]) -> str:
    """A line with those of its edits that are to be made."""
    return splice(line, ((edit.offset, edit.end, edit.after) for edit in edits if edit.applied))


def splice(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """A text with changes made: (start, end, new text), disjoint and in order."""
    parts, done = list[str](), 0
    for first, last, after in changes:
        parts += [text[done:first], after]
        done = last
    return "".join(parts) + text[done:]


def placed(line: str, start: int, end: int, edit: WordEdit, probability: float = 1.0) -> Change:
    """An edit of the words of ``line[start:end]`` as a change of the line, without what stays
    around them (of *(teh)*, *teh*).

    Words that come or go take the space before them along, the first ones the space after.
    """
    words = [*re.compile(r"\S+").finditer(line, start, end)]
    begins = [word.start() for word in words]
    ends = [word.end() for word in words]
    after = " ".join(edit.words)
    if edit.words and edit.start < edit.end:
        return _bare(line, Change(begins[edit.start], ends[edit.end - 1], after, probability))
    if edit.start:
        after = after and f" {after}"
        return Change(ends[edit.start - 1], ends[edit.end - 1], after, probability)
    if edit.words:
        return Change(begins[0], begins[0], f"{after} ", probability)
    behind = begins[edit.end] if edit.end < len(words) else ends[-1]
    return Change(begins[0], behind, "", probability)


def likeliest(changes: Iterable[Change]) -> list[Change]:
    """Returns, of changes that touch the same text, the most probable, in order."""
    kept = list[Change]()
    for change in sorted(changes, key=attrgetter("probability"), reverse=True):
        number = bisect_right(kept, change.start, key=attrgetter("end"))
        if number == len(kept) or kept[number].start >= max(change.end, change.start + 1):
            insort(kept, change)
    return kept


def _bare(line: str, change: Change) -> Change:
    """Returns a change without the characters that stay at its ends and belong to no word that
    differs; the whole one where nothing would be left."""
    before, after = line[change.start : change.end], change.after
    first = _around(before, after)
    last = _around(before[first:][::-1], after[first:][::-1])
    start, end = change.start + first, change.end - last
    new = after[first : len(after) - last]
    return change._replace(start=start, end=end, after=new) if start < end and new else change


def with_loose_mark(line: str, change: Change) -> Change:
    """Returns a change that puts an apostrophe in, with the one after its word, which was written
    a letter too late (*dont'*), unless that closes a quotation."""
    start, end, after, chance = change
    loose = _LOOSE.match(line, end)
    if not loose or "'" not in after or not line[start:end].isalpha():
        return change
    if any(quote.end() == end for quote in QUOTED.finditer(line, 0, end)):
        return change
    return Change(start, end + 1, after.replace("'", loose[0]), chance)


def _around(before: str, after: str) -> int:
    """Returns how many characters two texts begin with that are no part of a word that differs."""
    same = commonprefix([before, after])
    word = _LAST_WORD.search(same)
    return word.start() if word else len(same)
