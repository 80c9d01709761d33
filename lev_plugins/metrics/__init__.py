"""Metrics, and the scorers that ``--scoring`` knows beside fairseq's."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .word_edits import WordEdit, word_edits  # now: else the module would have the function's name

if TYPE_CHECKING:
    # loaded when asked for: a command that lists metrics needs no scorer of fairseq's
    from .accuracy import AccuracyConfig, AccuracyScorer
    from .corpus import METRICS, Metric, make_metric
    from .correction import CORRECTION_METRICS, CorrectionMetric, make_correction_metric
    from .metric_scorer import MetricScorer
    from .rouge import RougeConfig, RougeScorer
    from .ter import TerConfig, TerScorer
    from .word_scorers import (
        CharacterErrorRateConfig,
        CharacterErrorRateScorer,
        WordAccuracyConfig,
        WordAccuracyScorer,
        WordErrorRateConfig,
        WordErrorRateScorer,
        WordRecognitionConfig,
        WordRecognitionScorer,
    )
    from .words import CorrectionCounts, correction_counts

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

#: the modules that register scorers
SCORERS = ("accuracy", "rouge", "ter", "word_scorers")
_HOMES = {
    "AccuracyConfig": "accuracy",
    "AccuracyScorer": "accuracy",
    "METRICS": "corpus",
    "Metric": "corpus",
    "make_metric": "corpus",
    "CORRECTION_METRICS": "correction",
    "CorrectionMetric": "correction",
    "make_correction_metric": "correction",
    "MetricScorer": "metric_scorer",
    "RougeConfig": "rouge",
    "RougeScorer": "rouge",
    "TerConfig": "ter",
    "TerScorer": "ter",
    "CharacterErrorRateConfig": "word_scorers",
    "CharacterErrorRateScorer": "word_scorers",
    "WordAccuracyConfig": "word_scorers",
    "WordAccuracyScorer": "word_scorers",
    "WordErrorRateConfig": "word_scorers",
    "WordErrorRateScorer": "word_scorers",
    "WordRecognitionConfig": "word_scorers",
    "WordRecognitionScorer": "word_scorers",
    "CorrectionCounts": "words",
    "correction_counts": "words",
}


def register_scorers() -> None:
    """Registers what ``--scoring`` knows beside fairseq's scorers."""
    for module in SCORERS:
        import_module(f".{module}", __name__)


def __getattr__(name: str) -> Any:
    """The names of the modules below, loaded when asked for."""
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
