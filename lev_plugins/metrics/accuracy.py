"""``--scoring accuracy``: how many sentences are right to the letter."""

from dataclasses import dataclass

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import register_scorer

from .corpus import ExactMatch
from .metric_scorer import MetricScorer


@dataclass
class AccuracyConfig(FairseqDataclass):
    """``--scoring accuracy`` has no options."""


@register_scorer("accuracy", dataclass=AccuracyConfig)
class AccuracyScorer(MetricScorer):
    """Share of sentences equal to their reference, in percent; spaces at the ends do not count."""

    def __init__(self, cfg: AccuracyConfig) -> None:
        super().__init__(cfg, ExactMatch())

    def result_string(self) -> str:
        """Percent, and the counts it is made of."""
        right, total = map(int, self.totals)
        return f"accuracy = {self.score():.2f} ({right}/{total})"
