"""Metrics, and the scorers that ``--scoring`` knows beside fairseq's."""

from importlib import import_module

from .corpus import METRICS, Metric, make_metric
from .correction import CORRECTION_METRICS, CorrectionMetric, make_correction_metric
from .word_edits import WordEdit, word_edits
from .words import CorrectionCounts, correction_counts

__all__ = [
    "CORRECTION_METRICS",
    "METRICS",
    "CorrectionCounts",
    "CorrectionMetric",
    "Metric",
    "WordEdit",
    "correction_counts",
    "make_correction_metric",
    "make_metric",
    "word_edits",
]


def register_scorers() -> None:
    """Registers what ``--scoring`` knows beside fairseq's scorers."""
    # not before: a command that lists metrics needs no scorer of fairseq's
    import_module(".scorers", __name__)
