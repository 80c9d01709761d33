"""A line, what became of it, and the edits between, which are of whole words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ... import html
from .edits import script, splice

Reason = Literal["unknown", "protected", "length", "confidence"]


@dataclass(frozen=True)
class Edit:
    """A word of a line, or several side by side, that a model wrote anew.

    offset: where it begins, in characters of the line, from 0. before, after: what stood there and
    what the model wants there, whole words; of words that are added or go, the space beside them
    too, and the other is empty. probability: of the model, in [0, 1], that of the least sure of its
    letters. applied: whether the corrected line has it. reason: why
    not: ``unknown`` (it would write what the model cannot spell, shown as U+FFFD), ``protected``,
    ``length`` (it adds more characters than any correction that the model was tuned on) or
    ``confidence`` (its probability is too low); None where it was made.
    """

    offset: int
    before: str
    after: str
    probability: float
    applied: bool = True
    reason: Reason | None = None

    @property
    def end(self) -> int:
        """Where it ends in the line as it was."""
        return self.offset + len(self.before)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"offset": self.offset, "length": len(self.before)} | vars(self)


@dataclass(frozen=True)
class Correction:
    """A line, what became of it, and all edits that the model wants, made or not, in order.

    unterminated: (start, end) of the units that stayed as they were because the model's answer did
        not come to an end, in characters of the line. code: whether the line was left alone as one
        of code (:mod:`.prose`).
    """

    source: str
    text: str
    edits: tuple[Edit, ...]
    unterminated: tuple[tuple[int, int], ...] = ()
    code: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "source": self.source,
            "text": self.text,
            "edits": [edit.to_dict() for edit in self.edits],
            "unterminated": [list(one) for one in self.unterminated],
        }

    def _repr_html_(self) -> str:
        """For notebooks: the line with the edits that were applied, and their probabilities."""
        parts, place = [], 0
        for edit in (one for one in self.edits if one.applied):
            parts += [html.text(self.source[place : edit.offset]), html.deleted(edit.before)]
            parts += [html.inserted(edit.after), html.small(f"{edit.probability:.2f}")]
            place = edit.end
        return f'<p dir="auto">{"".join([*parts, html.text(self.source[place:])])}</p>'


def apply_edits(line: str, edits: Iterable[Edit]) -> str:
    """A line with those of its edits that are to be made."""
    return splice(line, ((one.offset, one.end, one.after) for one in edits if one.applied))


def by_words(line: str, edits: Sequence[Edit]) -> list[Edit]:
    """Edits of letters as edits of the words that they touch, in order.

    Edits of one word are one, with the smallest of their probabilities, where all were made or
    none for the same reason; those do not overlap among themselves. A word is a run of non-spaces;
    a byte order mark in front of a line belongs to none. Words that such an edit has before and
    after are cut off: of ``a`` → ``a b``, `` b`` is left.
    """
    found = [
        edit
        for reason in {edit.reason for edit in edits}
        for one in _touched(line, [edit for edit in edits if edit.reason == reason])
        for edit in _less_equal_words(_joined(line, *one))
    ]
    return sorted(
        found, key=lambda edit: (edit.offset, edit.end, not edit.applied, edit.reason or "")
    )


def _touched(line: str, edits: Sequence[Edit]) -> list[tuple[int, int, list[Edit]]]:
    """Where the words begin and end that edits touch, and the edits of each."""
    found: list[tuple[int, int, list[Edit]]] = []
    first = len(line) - len(line.removeprefix("\ufeff"))
    for edit in edits:
        if found and edit.offset <= found[-1][1]:
            start, end, some = found.pop()
        else:
            start, end, some = edit.offset, edit.end, []
            while start > first and not line[start - 1].isspace():
                start -= 1
        end = max(end, edit.end)
        while end < len(line) and not line[end].isspace():
            end += 1
        some.append(edit)
        found.append((start, end, some))
    return found


def _joined(line: str, start: int, end: int, edits: Sequence[Edit]) -> Edit:
    """The edit of ``line[start:end]`` that makes all of these."""
    after = splice(line[:end], [(edit.offset, edit.end, edit.after) for edit in edits], start)
    sure = min(edit.probability for edit in edits)
    return replace(edits[0], offset=start, before=line[start:end], after=after, probability=sure)


def _less_equal_words(edit: Edit) -> Iterator[Edit]:
    """What is left of an edit without the words that it has before and after."""
    before, after = (re.findall(r"\s+|\S+", text) for text in (edit.before, edit.after))
    for i, j, k, m in script(before, after):
        offset = edit.offset + sum(map(len, before[:i]))
        gone, come = "".join(before[i:j]), "".join(after[k:m])
        yield replace(edit, offset=offset, before=gone, after=come)
