"""Whether two systems differ: sentence scores side by side, Welch's t-test, and a paired test."""

import math
import statistics
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import UserError
from .corpus import Metric, bleu, make_metric

#: of the paired test, and how many numbers they may take: 400 MB, several times
TRIALS, FEWEST_TRIALS, MOST_NUMBERS = 10_000, 200, 50_000_000


def sentence_metric(name: str) -> Metric:
    """A metric for single sentences.

    BLEU counts n-grams up to the length of the sentence alone (sacrebleu's effective order):
    otherwise a sentence of three words would have 0 even where it is right.
    """
    return bleu(effective_order=True) if name == "bleu" else make_metric(name)


def compared(metric: Metric, lines: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Both systems by one metric.

    Args:
        lines: output of A, output of B and reference, sentence by sentence.

    Returns:
        ``mean_a``, ``mean_b``, ``difference`` (A − B), ``better`` (sentences on which A, and B, is
        better), ``p_paired`` (:func:`paired`), and of :func:`welch`; numbers that are not defined
        are None.
    """
    sides = [[metric.statistics(line[side], line[2]) for line in lines] for side in (0, 1)]
    scores = [[metric.score(one) for one in side] for side in sides]
    means = [statistics.fmean(side) for side in scores]
    wins = [sum(a > b for a, b in zip(*scores)), sum(a < b for a, b in zip(*scores))]
    return {
        "metric": metric.name,
        "signature": metric.signature(),
        "higher_is_better": metric.higher_is_better,
        "mean_a": means[0],
        "mean_b": means[1],
        "difference": means[0] - means[1],
        "better": wins if metric.higher_is_better else wins[::-1],
        **welch(scores[0], scores[1], metric.higher_is_better),
        "p_paired": paired(metric, sides[0], sides[1]),
    }


def paired(
    metric: Metric, a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]
) -> float | None:
    """p of sacrebleu's paired approximate randomization (Riezler and Maxwell, 2005), two-sided.

    How often outputs exchanged at random between both systems, sentence by sentence, differ more
    in the score of the corpus than the systems do: :data:`TRIALS`, fewer where more than some
    thousand sentences differ, from the seed SACREBLEU_SEED (12345). None for fewer than two
    sentences, or where both systems are the same.

    Args:
        a, b: the metric's statistics of each sentence.
    """
    from sacrebleu.metrics.base import Score, Signature
    from sacrebleu.significance import PairedTest

    if len(a) < 2 or list(a) == list(b):
        return None
    # sacrebleu keeps a number for each trial and sentence: what is equal is one sentence to it
    pairs = list(zip(a, b, strict=True))
    equal = np.array([one for one, other in pairs if one == other] or [[0.0] * len(a[0])])
    differing = [(one, other) for one, other in pairs if one != other]
    a, b = ([*side, equal.sum(axis=0).tolist()] for side in zip(*differing, strict=True))
    trials = max(FEWEST_TRIALS, min(TRIALS, MOST_NUMBERS // len(a)))

    class Extracted:
        """The metric as the test calls it; outputs are their statistics already."""

        def _extract_corpus_statistics(self, outputs: Any, references: None) -> np.ndarray:
            return np.array(outputs)

        def _aggregate_and_compute(self, statistics: np.ndarray) -> Score:
            return Score(metric.name, metric.score(statistics.sum(axis=0)))

        def get_signature(self) -> Signature:
            return Signature({"num_refs": 1})

    systems = [("a", a), ("b", b)]
    test = PairedTest(systems, {metric.name: Extracted()}, None, "ar", n_samples=trials)
    _, found = test()
    return float(found[metric.name][1].p_value)


def welch(
    a: Sequence[float], b: Sequence[float], higher_is_better: bool
) -> dict[str, float | None]:
    """Welch's t-test.

    Returns:
        ``t``, ``df``; ``p``, two-sided; ``p_one_sided``, that A is not better than B. None where
        there are fewer than two sentences, or where nothing varies.

    Raises:
        UserError: scipy is not installed.
    """
    stats = scipy_stats()
    names = ("t", "df", "p", "p_one_sided")
    found: dict[str, float | None] = dict.fromkeys(names)
    if len(a) < 2:
        return found
    if len(set(a)) > 1 or len(set(b)) > 1:
        side = "greater" if higher_is_better else "less"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of one side all are the same
            test = stats.ttest_ind(a, b, equal_var=False)
            one = stats.ttest_ind(a, b, equal_var=False, alternative=side)
        numbers = zip(names, map(float, (test.statistic, test.df, test.pvalue, one.pvalue)))
        found |= {name: value if math.isfinite(value) else None for name, value in numbers}
    return found


def scipy_stats() -> ModuleType:
    """scipy's tests; a :class:`UserError` says how to get them."""
    try:
        from scipy import stats
    except ImportError as error:
        raise UserError(
            "the t-test needs the library scipy; install it: pip install 'lev_plugins[report]'"
        ) from error
    return stats
