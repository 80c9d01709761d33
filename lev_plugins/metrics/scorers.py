"""Our metrics as scorers for ``--scoring``."""

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from lev_runtime.text.words import is_char_tokenized

from .corpus import WORD_METRICS, Metric, add_up, make_metric

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
        """Counts a sentence (``ref``: what it should be, ``pred``: what it is)."""
        statistics = self.metric.statistics(pred, ref)
        self.totals = add_up(self.metric, (self.totals, statistics))
        if len(self.shown) < _ENOUGH:
            self.shown.append(ref)

    def score(self) -> float:
        """Returns the metric of all sentences so far; 0 where there are none."""
        return self.metric.score(self.totals)

    def result_string(self) -> str:
        """Returns the score, how it was computed, and a warning where the text is spelt out."""
        name = self.metric.name
        if name == "accuracy":
            right, total = map(int, self.totals)
            return f"accuracy = {self.score():.2f} ({right}/{total})"
        title = "word accuracy" if name == "word_accuracy" else name.upper()
        text = f"{title} = {self.score():.2f} {self.metric.signature()}"
        if name in WORD_METRICS and is_char_tokenized(self.shown):
            text += (
                " (the references are single characters with spaces between them; --bpe characters "
                "or --post-process sentencepiece joins them to words)"
            )
        return text


def _register(name: str, metric: str) -> None:
    class Scorer(MetricScorer):
        """The scorer of one metric."""

        def __init__(self, cfg: FairseqDataclass) -> None:
            super().__init__(cfg, make_metric(metric))

    register_scorer(name, dataclass=FairseqDataclass)(Scorer)


_register("word_error_rate", "wer")  # fairseq's own is wer
for _name in ("accuracy", "cer", "ter", "word_accuracy", "wrr"):
    _register(_name, _name)
