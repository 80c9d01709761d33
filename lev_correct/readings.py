"""Texts that were read and are to be corrected."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .evidence.evidence import Evidence
from .evidence.text_prior import TextPrior
from .models.backend import Answer
from .text.protection import Document
from .text.units import Span, Unit

#: Lines whose units are answered together, of texts that are corrected together.
LINES_TOGETHER = 10_000


@dataclass
class Line:
    """A line of a text.

    written: as it stands there. text: as its words are read, of which all places are. origins:
    where each character of the text begins in ``written``. shown: as of :meth:`.Document.shown`.
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
class Text:
    """Lines, and what tells how sure an edit of them has to be."""

    lines: Sequence[Line]
    document: Document | None
    evidence: Evidence | None

    @property
    def prior(self) -> TextPrior | None:
        """Returns what else judges the edits of the text."""
        return self.document.prior if self.document else None


def groups(texts: Iterable[Text]) -> Iterator[list[Text]]:
    """Some texts at a time, of :data:`LINES_TOGETHER` lines or more but for the last."""
    group: list[Text] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text.lines)
        if size >= LINES_TOGETHER:
            yield group
            group, size = [], 0
    if group:
        yield group
