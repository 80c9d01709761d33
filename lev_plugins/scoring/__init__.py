"""Metrics, and the scorers that ``--scoring`` knows beside the engine's: ter, rouge, accuracy."""

from .accuracy import AccuracyConfig, AccuracyScorer
from .metric_scorer import MetricScorer
from .metrics import METRICS, Metric, make_metric
from .rouge import RougeConfig, RougeScorer
from .ter import TerConfig, TerScorer

__all__ = [
    "METRICS",
    "AccuracyConfig",
    "AccuracyScorer",
    "Metric",
    "MetricScorer",
    "RougeConfig",
    "RougeScorer",
    "TerConfig",
    "TerScorer",
    "make_metric",
]
