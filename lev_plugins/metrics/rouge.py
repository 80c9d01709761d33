"""``--scoring rouge``: overlap with the reference, as the library rouge-score counts it."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.scoring import register_scorer

from ..options import option
from .corpus import ROUGE_TYPES, Rouge
from .metric_scorer import MetricScorer


@dataclass
class RougeConfig(FairseqDataclass):
    rouge_type: ChoiceEnum(list(ROUGE_TYPES)) = option(  # type: ignore[valid-type]
        "rouge2",
        "ROUGE: rouge1 (words), rouge2 (pairs of words) or rougeL (longest common subsequence)",
    )


@register_scorer("rouge", dataclass=RougeConfig)
class RougeScorer(MetricScorer):
    """Mean F1 of the sentences, times 100 (Lin, 2004).

    Raises:
        UserError: the library rouge-score is not installed.
    """

    def __init__(self, cfg: RougeConfig) -> None:
        super().__init__(cfg, Rouge(str(cfg.rouge_type)))

    def result_string(self) -> str:
        """Score, and how it was computed."""
        return f"ROUGE-{self.metric.name[-1]} = {self.score():.2f} {self.metric.signature()}"
