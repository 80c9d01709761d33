"""Texts that were read and are to be corrected."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .evidence.evidence import Evidence
from .evidence.text_prior import TextPrior
from .text.protection import Document
from .text.units import Span, Unit

#: Lines whose units are answered together, of texts that are corrected together.
LINES_TOGETHER = 10_000


@dataclass(frozen=True)
class Reading:
    """A text: its lines, how each is shown (:meth:`.Document.shown`), which of them are code, which
    stay, where the words of each are, its units and its parts in other languages, and what tells
    how sure an edit has to be."""

    lines: Sequence[str]
    shown: Sequence[str]
    code: Sequence[bool]
    skipped: Sequence[bool]
    words: Sequence[Sequence[Span]]
    units: Sequence[Sequence[Unit]]
    foreign: Sequence[Sequence[Span]]
    document: Document | None
    evidence: Evidence | None = None

    @property
    def prior(self) -> TextPrior | None:
        """What else judges the edits of the text."""
        return self.document.prior if self.document else None


def groups(readings: Iterable[Reading]) -> Iterator[list[Reading]]:
    """Some texts at a time, of :data:`LINES_TOGETHER` lines or more but for the last."""
    group: list[Reading] = []
    size = 0
    for reading in readings:
        group.append(reading)
        size += len(reading.lines)
        if size >= LINES_TOGETHER:
            yield group
            group, size = [], 0
    if group:
        yield group
