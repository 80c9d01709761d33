"""A line, what became of it, and the edits between, which are of whole words."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ... import html
from .edits import splice

Reason = Literal["unknown", "protected", "length", "confidence"]


@dataclass(frozen=True)
class Edit:
    """A word of a line, or several side by side, that a model wrote anew.

    offset: where it begins, in characters of the line, from 0. before, after: what stood there and
    what the model wants there; of words that come or go with the space beside them, and the other
    is empty. probability: in [0, 1]. applied: whether the corrected line has it. reason: why not:
    ``unknown`` (what the model cannot spell, shown as U+FFFD), ``protected``, ``length`` (it adds
    more characters than any correction that the model was tuned on) or ``confidence``.
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

    unterminated: (start, end) in the line of units that stayed because the model's answer did not
    come to an end. code: whether the line was left alone as one of code (:mod:`.prose`).
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
