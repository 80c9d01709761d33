"""What ``--scoring`` knows beside fairseq's scorers: our metrics, each as a scorer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from ..options import option
from .corpus import WORD_METRICS, Metric, add_up, make_metric, ter
from .words import is_char_tokenized

_ENOUGH = 1000  # references that tell words from characters


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
        title = "word accuracy" if name == "word_accuracy" else name.partition("_")[0].upper()
        text = f"{title} = {self.score():.2f} {self.metric.signature()}"
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


def _ter(cfg: TerConfig) -> Metric:
    flags = (cfg.ter_normalized, cfg.ter_no_punct, cfg.ter_asian_support, cfg.ter_case_sensitive)
    return ter(*flags)


def _register(name: str, config: type[FairseqDataclass], metric: Callable[[Any], Metric]) -> None:
    class Scorer(MetricScorer):
        """The metric that the options ask for."""

        def __init__(self, cfg: FairseqDataclass) -> None:
            super().__init__(cfg, metric(cfg))

    register_scorer(name, dataclass=config)(Scorer)


def _named(name: str) -> Callable[[NoOptions], Metric]:
    return lambda cfg: make_metric(name)


_register("ter", TerConfig, _ter)
_register("word_error_rate", NoOptions, _named("wer"))  # fairseq's own is wer
for _name in ("accuracy", "cer", "word_accuracy", "wrr"):
    _register(_name, NoOptions, _named(_name))
