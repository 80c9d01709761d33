"""What ``--scoring`` knows beside fairseq's scorers: our metrics, each as a scorer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from ..options import option
from .corpus import ROUGE_TYPES, WORD_METRICS, Metric, add_up, make_metric, ter
from .words import is_char_tokenized

_ENOUGH = 1000  # references that tell words from characters
_TITLES = {
    **{"ter": "TER", "ter_normalized": "TER", "cer": "CER", "wer": "WER", "wrr": "WRR"},
    **{name: f"ROUGE-{name[-1]}" for name in ROUGE_TYPES},
    "word_accuracy": "word accuracy",
}


class MetricScorer(BaseScorer):
    """Counts sentences with a metric and keeps their sums alone.

    A model of characters writes ``n e w``: where these are not joined, every character counts as a
    word, and every space between them as a character. Metrics of words then say so.
    """

    def __init__(self, cfg: FairseqDataclass, metric: Metric) -> None:
        super().__init__(cfg)
        self.metric = metric
        self.totals = [0.0] * metric.size
        self.shown: list[str] = []

    def add_string(self, ref: str, pred: str) -> None:
        """Count one sentence (``ref``: what it should be, ``pred``: what it is)."""
        self.totals = add_up(self.metric, (self.totals, self.metric.statistics(pred, ref)))
        if len(self.shown) < _ENOUGH:
            self.shown.append(ref)

    def score(self) -> float:
        """The metric of all sentences so far; 0 where there are none."""
        return self.metric.score(self.totals)

    def result_string(self) -> str:
        """Score, how it was computed, and a warning where the text is spelt out."""
        name = self.metric.name
        if name == "accuracy":
            right, total = map(int, self.totals)
            return f"accuracy = {self.score():.2f} ({right}/{total})"
        text = f"{_TITLES[name]} = {self.score():.2f} {self.metric.signature()}"
        if name in WORD_METRICS and is_char_tokenized(self.shown):
            text += (
                " (the references are single characters with spaces between them; --bpe characters "
                "or --post-process sentencepiece joins them to words)"
            )
        return text


@dataclass
class NoOptions(FairseqDataclass):
    """A scorer without options."""


@dataclass
class TerConfig(FairseqDataclass):
    """Options of ``--scoring ter``; the defaults are those of ``sacrebleu -m ter``."""

    ter_normalized: bool = option(False, "TER: normalise and tokenise the text first")
    ter_no_punct: bool = option(False, "TER: leave punctuation out")
    ter_asian_support: bool = option(False, "TER: treat each Asian character as a word")
    ter_case_sensitive: bool = option(False, "TER: count a difference in case as an edit")


@dataclass
class RougeConfig(FairseqDataclass):
    rouge_type: ChoiceEnum(list(ROUGE_TYPES)) = option(  # type: ignore[valid-type]
        "rouge2",
        "ROUGE: rouge1 (words), rouge2 (pairs of words) or rougeL (longest common subsequence)",
    )


def _ter(cfg: TerConfig) -> Metric:
    flags = (cfg.ter_normalized, cfg.ter_no_punct, cfg.ter_asian_support, cfg.ter_case_sensitive)
    return ter(*flags)


def _named(name: str) -> Callable[[NoOptions], Metric]:
    return lambda cfg: make_metric(name)


# fairseq's own is --scoring wer
SCORERS: dict[str, tuple[type[FairseqDataclass], Callable[[Any], Metric]]] = {
    "ter": (TerConfig, _ter),
    "rouge": (RougeConfig, lambda cfg: make_metric(str(cfg.rouge_type))),
    "word_error_rate": (NoOptions, _named("wer")),
    **{name: (NoOptions, _named(name)) for name in ("accuracy", "cer", "word_accuracy", "wrr")},
}


def _register(name: str, config: type[FairseqDataclass], metric: Callable[[Any], Metric]) -> None:
    class Scorer(MetricScorer):
        """The metric that the options ask for."""

        def __init__(self, cfg: FairseqDataclass) -> None:
            super().__init__(cfg, metric(cfg))

    register_scorer(name, dataclass=config)(Scorer)


for _name, _made in SCORERS.items():
    _register(_name, *_made)
