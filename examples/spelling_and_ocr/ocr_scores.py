"""Scores of corrected text: how much is right, and what a correction corrected and miscorrected.

Words are what stands between spaces. All rates are of the whole text, not means over lines. What
is counted, and how, is :mod:`lev_plugins.metrics`'s.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lev_plugins.metrics import CorrectionCounts, correction_counts
from lev_plugins.metrics.corpus import add_up, make_metric
from lev_plugins.metrics.words import aligned, percent

__all__ = ["Scores", "aligned", "score"]


@dataclass(frozen=True)
class Scores:
    """Of a text against the clean one.

    lines, characters: of the clean text. lines_right: lines that are equal. counts: of the words of
    the clean text. word_errors, character_errors: insertions, deletions and substitutions.
    """

    lines: int
    characters: int
    lines_right: int
    counts: CorrectionCounts
    word_errors: int
    character_errors: int

    @property
    def words(self) -> int:
        """Words of the clean text."""
        return self.counts.words

    @property
    def words_right(self) -> int:
        """Clean words that stand in the text."""
        return self.counts.right

    @property
    def word_accuracy(self) -> float:
        """Percent of the clean words."""
        return self.counts.word_accuracy

    @property
    def wer(self) -> float:
        """Word errors per hundred clean words."""
        return percent(self.word_errors, self.words)

    @property
    def cer(self) -> float:
        """Character errors per hundred clean characters, spaces between words included."""
        return percent(self.character_errors, self.characters)

    @property
    def corrected(self) -> int:
        """Clean words that are right and were not before."""
        return self.counts.corrected

    @property
    def miscorrected(self) -> int:
        """Clean words that were right before and no longer are."""
        return self.counts.miscorrected


def score(outputs: Sequence[str], noisy: Sequence[str], clean: Sequence[str]) -> Scores:
    """Scores of ``outputs`` where ``noisy`` is what stood there before; all line by line."""
    character_errors, characters = _errors("cer", outputs, clean)
    return Scores(
        lines=len(clean),
        characters=characters,
        lines_right=sum(out == right for out, right in zip(outputs, clean, strict=True)),
        counts=correction_counts(noisy, outputs, clean),
        word_errors=_errors("wer", outputs, clean)[0],
        character_errors=character_errors,
    )


def _errors(name: str, outputs: Sequence[str], clean: Sequence[str]) -> tuple[int, int]:
    """Errors and the size of the clean text, over all lines."""
    rate = make_metric(name)
    pairs = zip(outputs, clean, strict=True)
    errors, size = add_up(rate, (rate.statistics(out, right) for out, right in pairs))
    return int(errors), int(size)
