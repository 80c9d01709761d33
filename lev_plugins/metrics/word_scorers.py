"""``--scoring cer``, ``word_error_rate``, ``word_accuracy`` and ``wrr``: words and characters."""

from dataclasses import dataclass

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import register_scorer

from ..options import option
from .corpus import Metric
from .error_rates import ErrorRate, WordAccuracy, WordRecognition, WordSets
from .metric_scorer import MetricScorer
from .words import is_char_tokenized

_ENOUGH = 1000


class WordScorer(MetricScorer):
    """Scores words or characters, and says so where what it got is no text.

    A model of characters writes ``n e w``: where these are not joined, every character counts as a
    word, and every space between them as a character.
    """

    title = ""

    def __init__(self, cfg: FairseqDataclass, metric: Metric) -> None:
        super().__init__(cfg, metric)
        self.shown: list[str] = []  # references, as many as tell words from characters

    def add_string(self, ref: str, pred: str) -> None:
        """Count one sentence (``ref``: what it should be, ``pred``: what it is)."""
        super().add_string(ref, pred)
        if len(self.shown) < _ENOUGH:
            self.shown.append(ref)

    def result_string(self) -> str:
        """Score, how it was computed, and a warning where the text is spelt out."""
        text = f"{self.title} = {self.score():.2f} {self.metric.signature()}"
        if is_char_tokenized(self.shown):
            text += (
                " (the references are single characters with spaces between them; --bpe characters "
                "or --post-process sentencepiece joins them to words)"
            )
        return text


@dataclass
class CharacterErrorRateConfig(FairseqDataclass):
    """``--scoring cer`` has no options."""


@register_scorer("cer", dataclass=CharacterErrorRateConfig)
class CharacterErrorRateScorer(WordScorer):
    """Edit operations per hundred characters of the references; lower is better."""

    title = "CER"

    def __init__(self, cfg: CharacterErrorRateConfig) -> None:
        super().__init__(cfg, ErrorRate("cer"))


@dataclass
class WordErrorRateConfig(FairseqDataclass):
    """``--scoring word_error_rate`` has no options; ``wer`` is fairseq's own."""


@register_scorer("word_error_rate", dataclass=WordErrorRateConfig)
class WordErrorRateScorer(WordScorer):
    """Edit operations per hundred words of the references; lower is better."""

    title = "WER"

    def __init__(self, cfg: WordErrorRateConfig) -> None:
        super().__init__(cfg, ErrorRate("wer"))


@dataclass
class WordAccuracyConfig(FairseqDataclass):
    """``--scoring word_accuracy`` has no options."""


@register_scorer("word_accuracy", dataclass=WordAccuracyConfig)
class WordAccuracyScorer(WordScorer):
    """Percent of the references' words that are right in the output."""

    title = "word accuracy"

    def __init__(self, cfg: WordAccuracyConfig) -> None:
        super().__init__(cfg, WordAccuracy())


@dataclass
class WordRecognitionConfig(FairseqDataclass):
    wrr_jaccard: bool = option(
        False,
        "WRR: mean overlap of the sentences' word sets in lower case (Jaccard index) instead of "
        "100 - WER",
    )


@register_scorer("wrr", dataclass=WordRecognitionConfig)
class WordRecognitionScorer(WordScorer):
    """Word recognition rate in either reading; higher is better."""

    title = "WRR"

    def __init__(self, cfg: WordRecognitionConfig) -> None:
        super().__init__(cfg, WordSets() if cfg.wrr_jaccard else WordRecognition())
