"""``--scoring ter``: translation edit rate, as sacrebleu counts it."""

from dataclasses import dataclass

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import register_scorer

from ..options import option
from .corpus import ter
from .metric_scorer import MetricScorer


@dataclass
class TerConfig(FairseqDataclass):
    """Options of ``--scoring ter``; the defaults are those of ``sacrebleu -m ter``."""

    ter_normalized: bool = option(False, "TER: normalise and tokenise the text first")
    ter_no_punct: bool = option(False, "TER: leave punctuation out")
    ter_asian_support: bool = option(False, "TER: treat each Asian character as a word")
    ter_case_sensitive: bool = option(False, "TER: count a difference in case as an edit")


@register_scorer("ter", dataclass=TerConfig)
class TerScorer(MetricScorer):
    """Edits (insert, delete, replace, shift) per reference word, in percent; lower is better.

    Snover et al., 2006, "A Study of Translation Edit Rate with Targeted Human Annotation".
    """

    def __init__(self, cfg: TerConfig) -> None:
        metric = ter(
            normalized=cfg.ter_normalized,
            no_punct=cfg.ter_no_punct,
            asian_support=cfg.ter_asian_support,
            case_sensitive=cfg.ter_case_sensitive,
        )
        super().__init__(cfg, metric)

    def result_string(self) -> str:
        """Score and sacrebleu's signature, to be quoted beside it."""
        if not self.sentences:
            return "TER = 0.00 (no sentences)"
        return f"TER = {self.score():.2f} {self.metric.signature()}"
