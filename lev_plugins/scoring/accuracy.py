"""``--scoring accuracy``: how many sentences are right to the letter."""

from dataclasses import dataclass

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer


@dataclass
class AccuracyConfig(FairseqDataclass):
    """``--scoring accuracy`` has no options."""


@register_scorer("accuracy", dataclass=AccuracyConfig)
class AccuracyScorer(BaseScorer):
    """Share of sentences equal to their reference, in percent; blanks at the ends do not count."""

    def __init__(self, cfg: AccuracyConfig) -> None:
        super().__init__(cfg)
        self.right = 0
        self.total = 0

    def add_string(self, ref: str, pred: str) -> None:
        """Count one sentence (``ref``: what it should be, ``pred``: what it is)."""
        self.right += ref.strip() == pred.strip()
        self.total += 1

    def score(self) -> float:
        """Percent of the sentences so far; 0 where there are none."""
        return 100.0 * self.right / self.total if self.total else 0.0

    def result_string(self) -> str:
        """Percent, and the counts it is made of."""
        return f"accuracy = {self.score():.2f} ({self.right}/{self.total})"
