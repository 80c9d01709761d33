"""Metrics of a correction: they need the text that was corrected beside output and reference.

The text that was corrected is the source here: a draft, or the noisy side of a corrector that
reads no draft. As with :class:`.metrics.Metric` a sentence gives a few numbers, and their sums over
any split of a corpus give its score. Several metrics can rest on one counting, which is then done
once: metrics whose ``counts`` are equal have the same statistics.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

from ..errors import UserError
from .word_edits import edit_matches, f_half, precision, recall
from .words import CorrectionCounts, line_counts


@dataclass(frozen=True)
class Counts:
    """What is counted of a sentence.

    size: how many statistics there are of a sentence. count: these, of source, output and
    reference. how: the counting, for the signature.
    """

    size: int
    count: Callable[[str, str, str], tuple[float, ...]]
    how: str

    def statistics(self, source: str, hypothesis: str, reference: str) -> tuple[float, ...]:
        """The statistics of one sentence; those of a corpus are their sums."""
        return tuple(map(float, self.count(source, hypothesis, reference)))

    def signature(self) -> str:
        """How was counted, in sacrebleu's form."""
        return f"nrefs:1|case:mixed|tok:whitespace|{self.how}|library:lev_plugins"


#: Words of the reference: all, right before, corrected, miscorrected (:func:`.words.line_counts`).
WORD_COUNTS = Counts(4, lambda *line: astuple(line_counts(*line)), "align:fewest-errors-most-equal")
#: Edits of words: right, wrong, missing (:func:`.word_edits.edit_matches`), and sentences.
EDIT_COUNTS = Counts(
    4,
    lambda *line: (*edit_matches(*line), 1),
    "match:span-and-words|merge:between-equal-words|none:100",
)


@dataclass(frozen=True)
class CorrectionMetric:
    """One number of a counting.

    name: its key in :data:`CORRECTION_METRICS`. higher_is_better: False for what is miscorrected.
    counts: what is counted. score: of a corpus, 0 … 100, from the sums of its statistics.
    """

    name: str
    higher_is_better: bool
    counts: Counts
    score: Callable[[Sequence[float]], float]

    @property
    def size(self) -> int:
        """How many statistics there are of a sentence."""
        return self.counts.size

    def statistics(self, source: str, hypothesis: str, reference: str) -> tuple[float, ...]:
        """The statistics of one sentence; those of a corpus are their sums."""
        return self.counts.statistics(source, hypothesis, reference)

    def signature(self) -> str:
        """How the score was computed, to be quoted beside it."""
        return self.counts.signature()


def word_totals(totals: Sequence[float]) -> CorrectionCounts:
    """The sums of :data:`WORD_COUNTS` by their names."""
    return CorrectionCounts(*map(int, totals))


def _of_edits(rate: Callable[[Sequence[float]], float]) -> Callable[[Sequence[float]], float]:
    """The rate of right, wrong and missing edits; 0 where there is no sentence at all."""
    return lambda totals: rate(totals[:3]) if totals[3] else 0.0


CORRECTION_METRICS = {
    one.name: one
    for one in (
        CorrectionMetric(
            "correction_rate", True, WORD_COUNTS, lambda totals: word_totals(totals).correction_rate
        ),
        CorrectionMetric(
            "words_broken",
            False,
            WORD_COUNTS,
            lambda totals: word_totals(totals).miscorrection_rate,
        ),
        CorrectionMetric("edit_precision", True, EDIT_COUNTS, _of_edits(precision)),
        CorrectionMetric("edit_recall", True, EDIT_COUNTS, _of_edits(recall)),
        CorrectionMetric("edit_f05", True, EDIT_COUNTS, _of_edits(f_half)),
    )
}


def make_correction_metric(name: str) -> CorrectionMetric:
    """The metric of this name; :class:`UserError` where there is none."""
    if name not in CORRECTION_METRICS:
        known = ", ".join(CORRECTION_METRICS)
        raise UserError(f"there is no correction metric {name!r}; there are {known}")
    return CORRECTION_METRICS[name]
