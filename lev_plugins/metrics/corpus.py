"""Corpus metrics as sums of sentence statistics, alike in scorers, validation and reports.

A metric turns a pair of sentences into a few numbers. These add up over sentences, batches and
processes, and the sums alone give the score of the corpus: a corpus that is scored in parts gets
the score of the whole.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol

from rapidfuzz.distance import Levenshtein

from ..errors import UserError
from .words import percent, right_words

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacrebleuBase

    from .correction import Counts


class Metric(Protocol):
    """What a metric offers that needs outputs and references alone."""

    @property
    def name(self) -> str:
        """Its key in :data:`METRICS`."""

    @property
    def higher_is_better(self) -> bool:
        """False for error rates."""

    @property
    def size(self) -> int:
        """How many statistics there are of a sentence."""

    def statistics(self, hypothesis: str, reference: str) -> tuple[float, ...]:
        """The statistics of one sentence; those of a corpus are their sums."""

    def score(self, totals: Sequence[float]) -> float:
        """The score of a corpus, 0 … 100 (an error rate may be higher); 0 where it is empty."""

    def signature(self) -> str:
        """How the score was computed, to be quoted beside it."""


class SacrebleuMetric:
    """A metric of sacrebleu: the scores are its corpus scores to the last bit."""

    def __init__(
        self, name: str, metric: "SacrebleuBase", size: int, higher_is_better: bool = True
    ) -> None:
        self.name, self.size, self.higher_is_better = name, size, higher_is_better
        self._metric = metric

    def statistics(self, hypothesis: str, reference: str) -> tuple[float, ...]:
        """sacrebleu's numbers for one sentence against one reference."""
        # not public, but the same for all its metrics; its significance tests rest on them too
        (numbers,) = self._metric._extract_corpus_statistics([hypothesis], [[reference]])
        return tuple(map(float, numbers))

    def score(self, totals: Sequence[float]) -> float:
        """sacrebleu's score of a corpus with these sums."""
        return float(self._metric._compute_score_from_stats(list(totals)).score)

    def signature(self) -> str:
        """sacrebleu's signature, for one reference."""
        self.statistics("", "")  # it knows the number of references once it has seen some
        return str(self._metric.get_signature())


def bleu(tokenize: str | None = None, effective_order: bool = False) -> SacrebleuMetric:
    """BLEU (Papineni et al., 2002) with sacrebleu's defaults, or another of its tokenisers."""
    from sacrebleu.metrics import BLEU

    # force: no warning about text that is tokenised already, which is as the user wants it
    metric = BLEU(tokenize=tokenize, effective_order=effective_order, force=True)
    return SacrebleuMetric("bleu", metric, 2 + 2 * 4)


def ter(
    normalized: bool = False,
    no_punct: bool = False,
    asian_support: bool = False,
    case_sensitive: bool = False,
) -> SacrebleuMetric:
    """Translation edit rate (Snover et al., 2006) with sacrebleu's settings and defaults."""
    from sacrebleu.metrics import TER

    metric = TER(normalized, no_punct, asian_support, case_sensitive)
    name = "ter_normalized" if normalized else "ter"
    return SacrebleuMetric(name, metric, 2, higher_is_better=False)


def chrf() -> SacrebleuMetric:
    """chrF2 (Popović, 2015) with sacrebleu's defaults."""
    from sacrebleu.metrics import CHRF

    return SacrebleuMetric("chrf", CHRF(), 3 * CHRF.CHAR_ORDER)


@dataclass(frozen=True)
class Share:
    """A rate of words, characters or sentences, without a library: sums over sums, in per cent.

    Words are what stands between spaces; texts are taken as they are, with case and punctuation.

    Attributes:
        count: the two numbers of a sentence, of output and reference; the score is the sum of the
            first in per cent of that of the second.
        tokens, how: what the signature says of the counting.
        rest: the score is 100 minus that, 0 where nothing was counted.
    """

    name: str
    count: Callable[[str, str], tuple[float, float]]
    tokens: str
    how: str
    higher_is_better: bool = True
    rest: bool = False
    size: ClassVar[int] = 2

    def statistics(self, hypothesis: str, reference: str) -> tuple[float, ...]:
        """The two numbers of one sentence."""
        return tuple(map(float, self.count(hypothesis, reference)))

    def score(self, totals: Sequence[float]) -> float:
        """Of a corpus with these sums; 0 where the second is 0."""
        share = percent(*totals)
        return 100.0 - share if self.rest and totals[1] else share

    def signature(self) -> str:
        """In sacrebleu's form."""
        return f"nrefs:1|case:mixed|tok:{self.tokens}|{self.how}|library:lev_plugins"


def _exact(hypothesis: str, reference: str) -> tuple[float, float]:
    """Sentences equal to their reference; spaces at the ends do not count."""
    return hypothesis.strip() == reference.strip(), 1


def _right_words(hypothesis: str, reference: str) -> tuple[float, float]:
    """Words of the reference that are right (:func:`.words.right_words`); too many cost nothing."""
    words = reference.split()
    return len(right_words(hypothesis.split(), words)), len(words)


def _word_errors(hypothesis: str, reference: str) -> tuple[float, float]:
    """Insertions, deletions and substitutions of words, as the library jiwer defines them."""
    words = reference.split()
    return Levenshtein.distance(hypothesis.split(), words), len(words)


def _letter_errors(hypothesis: str, reference: str) -> tuple[float, float]:
    """The same of characters; spaces at the ends do not count."""
    text = reference.strip()
    return Levenshtein.distance(hypothesis.strip(), text), len(text)


_EDITS = "ops:ins,del,sub"
METRICS: dict[str, Callable[[], Metric]] = {
    "bleu": bleu,
    "ter": ter,
    # as post-editing is judged: case matters (paper, Table 3)
    "ter_normalized": lambda: ter(normalized=True, case_sensitive=True),
    "chrf": chrf,
    "accuracy": partial(Share, "accuracy", _exact, "none", "ends:stripped"),
    "word_accuracy": partial(
        Share, "word_accuracy", _right_words, "whitespace", "align:fewest-errors-most-equal"
    ),
    # with many words too many it is below 0
    "wrr": partial(Share, "wrr", _word_errors, "whitespace", "wrr:100-wer", rest=True),
    "wer": partial(Share, "wer", _word_errors, "whitespace", _EDITS, higher_is_better=False),
    "cer": partial(Share, "cer", _letter_errors, "char", _EDITS, higher_is_better=False),
}

# those that take what stands between spaces for a word, and every character for a letter
WORD_METRICS = ("word_accuracy", "wrr", "wer", "cer")


def make_metric(name: str) -> Metric:
    """The metric of this name, with its default settings.

    Raises:
        UserError: there is none of this name.
    """
    if name not in METRICS:
        raise UserError(f"there is no metric {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]()


def add_up(metric: "Metric | Counts", statistics: Iterable[Sequence[float]]) -> list[float]:
    """Sums of the statistics of sentences, zeros where there are none."""
    totals = [0.0] * metric.size
    for numbers in statistics:
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
    return totals
