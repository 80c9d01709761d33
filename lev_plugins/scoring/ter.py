"""``--scoring ter``: translation edit rate, as sacrebleu counts it."""

from dataclasses import dataclass, field
from typing import Any

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer
from sacrebleu.metrics import TER


@dataclass
class TerConfig(FairseqDataclass):
    """Options of ``--scoring ter``; the defaults are those of ``sacrebleu -m ter``."""

    ter_normalized: bool = field(
        default=False, metadata={"help": "TER: normalise and tokenise the text first"}
    )
    ter_no_punct: bool = field(default=False, metadata={"help": "TER: leave punctuation out"})
    ter_asian_support: bool = field(
        default=False, metadata={"help": "TER: treat each Asian character as a word"}
    )
    ter_case_sensitive: bool = field(
        default=False, metadata={"help": "TER: count a difference in case as an edit"}
    )


@register_scorer("ter", dataclass=TerConfig)
class TerScorer(BaseScorer):
    """Edits (insert, delete, replace, shift) per reference word, in percent; lower is better.

    Snover et al., 2006, "A Study of Translation Edit Rate with Targeted Human Annotation".
    """

    def __init__(self, cfg: TerConfig) -> None:
        super().__init__(cfg)
        self.metric = TER(
            normalized=cfg.ter_normalized,
            no_punct=cfg.ter_no_punct,
            asian_support=cfg.ter_asian_support,
            case_sensitive=cfg.ter_case_sensitive,
        )

    def _corpus_score(self) -> Any:
        return self.metric.corpus_score(self.pred, [self.ref])

    def score(self) -> float:
        """TER of all sentences so far, in percent; 0 where there are none."""
        return float(self._corpus_score().score) if self.pred else 0.0

    def result_string(self) -> str:
        """Score and sacrebleu's signature, to be quoted beside it."""
        if not self.pred:
            return "TER = 0.00 (no sentences)"
        return f"TER = {self.score():.2f} {self.metric.get_signature()}"
