"""What ``--scoring`` knows beside fairseq's scorers: our metrics, each as a scorer."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from ..options import option
from .corpus import ROUGE_TYPES, Metric, add_up, make_metric, ter
from .words import is_char_tokenized

_ENOUGH = 1000


class MetricScorer(BaseScorer):
    """Counts sentences with a metric and keeps their sums alone."""

    def __init__(self, cfg: FairseqDataclass, metric: Metric) -> None:
        super().__init__(cfg)
        self.metric = metric
        self.totals = [0.0] * metric.size
        self.sentences = 0

    def add_string(self, ref: str, pred: str) -> None:
        """Count one sentence (``ref``: what it should be, ``pred``: what it is)."""
        self.totals = add_up(self.metric, (self.totals, self.metric.statistics(pred, ref)))
        self.sentences += 1

    def score(self) -> float:
        """The metric of all sentences so far; 0 where there are none."""
        return self.metric.score(self.totals)


@dataclass
class NoOptions(FairseqDataclass):
    """A scorer without options. ``--scoring wer`` is fairseq's own, ours is word_error_rate."""


AccuracyConfig = CharacterErrorRateConfig = NoOptions
WordErrorRateConfig = WordAccuracyConfig = NoOptions


@register_scorer("accuracy", dataclass=NoOptions)
class AccuracyScorer(MetricScorer):
    """Share of sentences equal to their reference, in percent; spaces at the ends do not count."""

    def __init__(self, cfg: NoOptions) -> None:
        super().__init__(cfg, make_metric("accuracy"))

    def result_string(self) -> str:
        """Percent, and the counts it is made of."""
        right, total = map(int, self.totals)
        return f"accuracy = {self.score():.2f} ({right}/{total})"


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
        super().__init__(cfg, make_metric(str(cfg.rouge_type)))

    def result_string(self) -> str:
        """Score, and how it was computed."""
        return f"ROUGE-{self.metric.name[-1]} = {self.score():.2f} {self.metric.signature()}"


class WordScorer(MetricScorer):
    """Scores words or characters, and says so where what it got is no text.

    A model of characters writes ``n e w``: where these are not joined, every character counts as a
    word, and every space between them as a character.
    """

    title = name = ""

    def __init__(self, cfg: FairseqDataclass, name: str | None = None) -> None:
        super().__init__(cfg, make_metric(name or self.name))
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


@register_scorer("cer", dataclass=NoOptions)
class CharacterErrorRateScorer(WordScorer):
    """Edit operations per hundred characters of the references; lower is better."""

    title, name = "CER", "cer"


@register_scorer("word_error_rate", dataclass=NoOptions)
class WordErrorRateScorer(WordScorer):
    """Edit operations per hundred words of the references; lower is better."""

    title, name = "WER", "wer"


@register_scorer("word_accuracy", dataclass=NoOptions)
class WordAccuracyScorer(WordScorer):
    """Percent of the references' words that are right in the output."""

    title, name = "word accuracy", "word_accuracy"


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
        super().__init__(cfg, "wrr_jaccard" if cfg.wrr_jaccard else "wrr")
