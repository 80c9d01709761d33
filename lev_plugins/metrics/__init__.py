"""Metrics, and the scorers that ``--scoring`` knows besides fairseq's."""

from importlib import import_module

from lev_runtime.text.words import CorrectionCounts, correction_counts

from .corpus import CORRECTION_METRICS, METRICS, Metric, make_metric

__all__ = [
    "CORRECTION_METRICS",
    "METRICS",
    "CorrectionCounts",
    "Metric",
    "correction_counts",
    "make_metric",
]


def register_scorers() -> None:
    """Registers what ``--scoring`` knows besides fairseq's scorers."""
    # not before: a command that lists metrics needs no scorer of fairseq's
    import_module(".scorers", __name__)
