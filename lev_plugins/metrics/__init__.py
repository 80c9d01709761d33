"""Metrics, and the scorers that ``--scoring`` knows beside fairseq's."""

from .accuracy import AccuracyConfig, AccuracyScorer
from .corpus import METRICS, Metric, make_metric
from .correction import CORRECTION_METRICS, CorrectionMetric, make_correction_metric
from .metric_scorer import MetricScorer
from .rouge import RougeConfig, RougeScorer
from .ter import TerConfig, TerScorer
from .word_edits import WordEdit, word_edits
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
