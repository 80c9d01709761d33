"""Corpus metrics as sums of sentence statistics, alike in scorers, validation and reports.

A metric turns the texts of a sentence into a few numbers. These add up over sentences, batches and
processes, and the sums alone give the score of the corpus: a corpus that is scored in parts gets
the score of the whole.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein

from lev_runtime.errors import UserError, require_extra
from lev_runtime.text.words import (
    CorrectionCounts,
    edit_matches,
    f_half,
    line_counts,
    percent,
    precision,
    recall,
    right_words,
)

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacrebleuBase


@dataclass(frozen=True)
class Metric:
    """A metric: statistics of a sentence, and the score of their sums.

    Attributes:
        name: its key in :data:`METRICS` or :data:`CORRECTION_METRICS`.
        size: how many statistics there are of a sentence.
        statistics: these, of output and reference; for a metric of a correction of source, output
            and reference. Those of a corpus are their sums.
        score: of a corpus with these sums, 0 … 100 (an error rate may be higher, what is left of
            100 lower); 0 where it is empty.
        signature: how the score was computed, to be quoted next to it.
        higher_is_better: False for error rates.
    """

    name: str
    size: int
    statistics: Callable[..., tuple[float, ...]]
    score: Callable[[Sequence[float]], float]
    signature: Callable[[], str]
    higher_is_better: bool = True


def _sacrebleu(name: str, metric: "SacrebleuBase", size: int, higher: bool = True) -> Metric:
    """Makes a metric of sacrebleu's: the scores are its corpus scores to the last bit."""

    def statistics(hypothesis: str, reference: str) -> tuple[float, ...]:
        # not public, but the same for all its metrics; its significance tests rest on them too
        (numbers,) = metric._extract_corpus_statistics([hypothesis], [[reference]])
        return tuple(map(float, numbers))

    def score(totals: Sequence[float]) -> float:
        return float(metric._compute_score_from_stats(list(totals)).score)

    def signature() -> str:
        statistics("", "")  # it knows the number of references once it has seen some
        return str(metric.get_signature())

    return Metric(name, size, statistics, score, signature, higher)


def _library(name: str) -> ModuleType:
    """Imports sacrebleu's metrics, for one of them; raises :class:`.UserError` without it."""
    require_extra("train", what=f"the metric {name}", modules=["sacrebleu"])
    return import_module("sacrebleu.metrics")


def bleu(tokenize: str | None = None) -> Metric:
    """Makes BLEU (Papineni et al., 2002) by sacrebleu's defaults, or another of its tokenizers."""
    # force: no warning about text that is tokenised already, which is as the user wants it
    return _sacrebleu("bleu", _library("bleu").BLEU(tokenize=tokenize, force=True), 2 + 2 * 4)


def ter(normalized: bool = False, case_sensitive: bool = False) -> Metric:
    """Makes TER (Snover et al., 2006) with sacrebleu's defaults, or two settings."""
    name = "ter_normalized" if normalized else "ter"
    metric = _library(name).TER(normalized=normalized, case_sensitive=case_sensitive)
    return _sacrebleu(name, metric, 2, higher=False)


def chrf() -> Metric:
    """Makes chrF2 (Popović, 2015) with sacrebleu's defaults."""
    metric = _library("chrf").CHRF()
    return _sacrebleu("chrf", metric, 3 * metric.CHAR_ORDER)


def _own(
    name: str,
    size: int,
    count: Callable[..., tuple[float, ...]],
    score: Callable[[Sequence[float]], float],
    how: str,
    tokens: str = "whitespace",
    higher: bool = True,
) -> Metric:
    """Makes a metric without a library; texts are taken as they are, with case and punctuation.

    count: the statistics of a sentence. how: what the signature says, in sacrebleu's form.
    """
    signature = f"nrefs:1|case:mixed|tok:{tokens}|{how}|library:lev_plugins"
    return Metric(name, size, count, score, lambda: signature, higher)


# Of a sentence two numbers, of output and reference; the score is the sum of the first in per cent
# of that of the second.


def _exact(hypothesis: str, reference: str) -> tuple[float, float]:
    """Counts sentences equal to their reference; spaces at the ends do not count."""
    return float(hypothesis.strip() == reference.strip()), 1.0


def _right_words(hypothesis: str, reference: str) -> tuple[float, float]:
    """Counts right words of the reference (:func:`.words.right_words`); too many cost nothing."""
    words = reference.split()
    return float(len(right_words(hypothesis.split(), words))), float(len(words))


def _word_errors(hypothesis: str, reference: str) -> tuple[float, float]:
    """Counts insertions, deletions and substitutions of words, as the library jiwer does."""
    words = reference.split()
    return float(Levenshtein.distance(hypothesis.split(), words)), float(len(words))


def _letter_errors(hypothesis: str, reference: str) -> tuple[float, float]:
    """Counts the same of characters; spaces at the ends do not count."""
    text = reference.strip()
    return float(Levenshtein.distance(hypothesis.strip(), text)), float(len(text))


def _share(totals: Sequence[float]) -> float:
    return percent(*totals)


def _rest(totals: Sequence[float]) -> float:
    """Returns 100 minus the share, 0 where nothing was counted."""
    return 100.0 - percent(*totals) if totals[1] else 0.0


_EDITS, _FEWEST = "ops:ins,del,sub", "align:fewest-errors-most-equal"
METRICS: dict[str, Callable[[], Metric]] = {
    "bleu": bleu,
    "ter": ter,
    # as post-editing is judged: case matters (paper, Table 3)
    "ter_normalized": lambda: ter(normalized=True, case_sensitive=True),
    "chrf": chrf,
    "accuracy": lambda: _own("accuracy", 2, _exact, _share, "ends:stripped", "none"),
    "word_accuracy": lambda: _own("word_accuracy", 2, _right_words, _share, _FEWEST),
    # with many words too many it is below 0
    "wrr": lambda: _own("wrr", 2, _word_errors, _rest, "wrr:100-wer"),
    "wer": lambda: _own("wer", 2, _word_errors, _share, _EDITS, higher=False),
    "cer": lambda: _own("cer", 2, _letter_errors, _share, _EDITS, "char", higher=False),
}

# those that take what stands between spaces for a word, and every character for a letter
WORD_METRICS = ("word_accuracy", "wrr", "wer", "cer")


# Metrics of a correction need the text that was corrected, the source, with output and reference:
# a draft, or the noisy side of a corrector that reads no draft.


def word_statistics(source: str, hypothesis: str, reference: str) -> tuple[float, ...]:
    """Counts words of the reference: all, right before, corrected, miscorrected."""
    return tuple(map(float, astuple(line_counts(source, hypothesis, reference))))


def word_totals(totals: Sequence[float]) -> CorrectionCounts:
    """Returns the sums of :func:`word_statistics` by their names."""
    return CorrectionCounts(*map(int, totals))


def edit_statistics(source: str, hypothesis: str, reference: str) -> tuple[float, ...]:
    """Counts edits (:func:`.words.edit_matches`): right, wrong, missing; and sentences."""
    return (*map(float, edit_matches(source, hypothesis, reference)), 1.0)


def _of_edits(rate: Callable[[Sequence[float]], float], totals: Sequence[float]) -> float:
    """Returns the rate of right, wrong and missing edits; 0 where there is no sentence at all."""
    return rate(totals[:3]) if totals[3] else 0.0


_SPANS = "match:span-and-words|merge:between-equal-words|none:100"
#: Those of equal ``statistics`` are counted once, by :mod:`..reports.figures`.
CORRECTION_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _own("correction_recall", 4, word_statistics,
             lambda totals: word_totals(totals).correction_recall, _FEWEST),
        _own("miscorrection_rate", 4, word_statistics,
             lambda totals: word_totals(totals).miscorrection_rate, _FEWEST, higher=False),
        _own("edit_precision", 4, edit_statistics, partial(_of_edits, precision), _SPANS),
        _own("edit_recall", 4, edit_statistics, partial(_of_edits, recall), _SPANS),
        _own("edit_f05", 4, edit_statistics, partial(_of_edits, f_half), _SPANS),
    )
}  # fmt: skip


def make_metric(name: str) -> Metric:
    """Returns the metric of output and reference of this name, with its default settings.

    Raises:
        UserError: there is none of this name.
    """
    if name not in METRICS:
        raise UserError(f"no metric {name!r}; choose from {', '.join(METRICS)}")
    return METRICS[name]()


def add_up(metric: Metric, statistics: Iterable[Sequence[float]]) -> list[float]:
    """Sums up the statistics of sentences; zeros where there are none."""
    totals = [0.0] * metric.size
    for numbers in statistics:
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
    return totals
