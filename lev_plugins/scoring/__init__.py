"""Scorers for ``--scoring``, beside the engine's: ``ter`` and ``accuracy``."""

from .accuracy import AccuracyConfig, AccuracyScorer
from .ter import TerConfig, TerScorer

__all__ = ["AccuracyConfig", "AccuracyScorer", "TerConfig", "TerScorer"]
