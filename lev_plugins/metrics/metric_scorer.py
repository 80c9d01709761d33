"""A metric as a scorer of ``--scoring``."""

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer

from .corpus import Metric


class MetricScorer(BaseScorer):
    """Counts sentences with a metric and keeps their sums alone.

    Args:
        cfg: configuration of the scorer.
        metric: what it counts with.
    """

    def __init__(self, cfg: FairseqDataclass, metric: Metric) -> None:
        super().__init__(cfg)
        self.metric = metric
        self.totals = [0.0] * metric.size
        self.sentences = 0

    def add_string(self, ref: str, pred: str) -> None:
        """Count one sentence (``ref``: what it should be, ``pred``: what it is)."""
        numbers = self.metric.statistics(pred, ref)
        self.totals = [total + number for total, number in zip(self.totals, numbers)]
        self.sentences += 1

    def score(self) -> float:
        """The metric of all sentences so far; 0 where there are none."""
        return self.metric.score(self.totals)
