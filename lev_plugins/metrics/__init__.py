"""Metrics, and the scorers that ``--scoring`` knows beside fairseq's."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .corpus import METRICS, Metric, make_metric
from .correction import CORRECTION_METRICS, CorrectionMetric, make_correction_metric
from .word_edits import WordEdit, word_edits
from .words import CorrectionCounts, correction_counts

if TYPE_CHECKING:
    # loaded when asked for: a command that lists metrics needs no scorer of fairseq's
    from .scorers import (
        AccuracyConfig,
        AccuracyScorer,
        CharacterErrorRateConfig,
        CharacterErrorRateScorer,
        MetricScorer,
        RougeConfig,
        RougeScorer,
        TerConfig,
        TerScorer,
        WordAccuracyConfig,
        WordAccuracyScorer,
        WordErrorRateConfig,
        WordErrorRateScorer,
        WordRecognitionConfig,
        WordRecognitionScorer,
    )

__all__ = [
    "CORRECTION_METRICS",
    "METRICS",
    "AccuracyConfig",
    "AccuracyScorer",
    "CharacterErrorRateConfig",
    "CharacterErrorRateScorer",
    "CorrectionCounts",
    "CorrectionMetric",
    "Metric",
    "MetricScorer",
    "RougeConfig",
    "RougeScorer",
    "TerConfig",
    "TerScorer",
    "WordAccuracyConfig",
    "WordAccuracyScorer",
    "WordEdit",
    "WordErrorRateConfig",
    "WordErrorRateScorer",
    "WordRecognitionConfig",
    "WordRecognitionScorer",
    "correction_counts",
    "make_correction_metric",
    "make_metric",
    "word_edits",
]


def register_scorers() -> None:
    """Registers what ``--scoring`` knows beside fairseq's scorers."""
    import_module(".scorers", __name__)


def __getattr__(name: str) -> Any:
    """The scorers."""
    if name in __all__:
        return getattr(import_module(".scorers", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
