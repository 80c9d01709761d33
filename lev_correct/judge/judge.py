"""Judges: how probable an edit is where it stands, by what its text tells besides the model.

A :class:`Judge` is asked about every edit that the model or the spaces propose, in one way:
``foreign_parts`` of the lines of a text, in order, then ``line(…)`` for the edits of one line.
:meth:`.Corrector.judge` chooses which one a text has:

- :class:`Judge`: the model's word is taken;
- :class:`.Evidence`: lists of known words, and weights that were learnt, tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

from ..propose.spacing import SURE as SURE_OF_SPACES
from ..text.units import Span, bare_letters

#: What an edit does: to a word as the model proposes it, one that is alone in its line, that is
#: listed as a misspelling, or is written for another one; to spaces or apostrophes, or a slip.
Kind = Literal[
    "word", "alone", "listed", "confused", "slip", "left out", "put in", "apostrophe", "doubled"
]


class OfLine(Protocol):
    """Judges the edits of one line."""

    @property
    def why(self) -> Mapping[int, Mapping[str, float]]:
        """Returns by where an edit begins the terms of its log-odds by name, in nats."""

    def probability(
        self, start: int, before: str, after: str, chance: float, kind: Kind = "word"
    ) -> float:
        """Returns that of an edit, by all that is known.

        Args:
            start: where it begins.
            chance: by what proposed it, in [0, 1].
        """


class Judge:
    """Takes the model's word; base of the others."""

    #: Whether most of the text is in another language.
    foreign = False
    why: Mapping[int, Mapping[str, float]] = {}  # nothing but the model

    def foreign_parts(
        self,
        lines: Sequence[str],
        silent: Sequence[bool],
        places: Sequence[Sequence[Span]],
    ) -> Sequence[Sequence[Span]]:
        """Returns where each of the next lines is in another language.

        Args:
            silent: lines that are not read.
            places: where the words of each line are, as of :func:`units.spans` with ``letters``.
        """
        return [()] * len(lines)

    def survey(self, lines: Iterable[str]) -> None:
        """Counts the words of a file of the run, its code's too, before any is corrected."""

    def leaves_alone(self, word: str) -> bool:
        """Returns whether a word stays, whatever the model says."""
        return False

    def line(self, text: str, places: Sequence[Span]) -> OfLine:
        """Returns a judge of the edits of a line; ``places`` as of :meth:`foreign_parts`."""
        return self

    def probability(
        self, start: int, before: str, after: str, chance: float, kind: Kind = "word"
    ) -> float:
        """See :class:`OfLine`."""
        return chance

    def threshold_for(self, threshold: float, is_spaced: bool) -> float:
        """Returns the probability from which on an edit is made; is_spaced: one of spaces."""
        return max(threshold, SURE_OF_SPACES) if is_spaced else threshold


def kind_of(before: str, after: str) -> Kind:
    """The kind of a change of spaces or apostrophes in a word or two, or of a slip."""
    words, spaced = len(before.split()), len(after.split())
    differ = bare_letters(before) != bare_letters(after)
    if words == 1:
        return "left out" if spaced > 1 else "slip" if differ else "apostrophe"
    return "doubled" if spaced == 1 and differ else "put in"
