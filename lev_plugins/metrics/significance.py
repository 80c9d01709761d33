"""Whether two systems differ: sentence scores side by side, Welch's t-test and the paired one."""

import math
import statistics
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ..errors import UserError
from .corpus import Metric, SacrebleuMetric, make_metric


def sentence_metric(name: str) -> Metric:
    """A metric for single sentences.

    BLEU counts n-grams up to the length of the sentence alone (sacrebleu's effective order):
    otherwise a sentence of three words would have 0 even where it is right.
    """
    if name == "bleu":
        from sacrebleu.metrics import BLEU

        return SacrebleuMetric("bleu", BLEU(effective_order=True, force=True), 2 + 2 * 4)
    return make_metric(name)


def compared(metric: Metric, lines: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Both systems by one metric.

    Args:
        lines: output of A, output of B and reference, sentence by sentence.

    Returns:
        ``mean_a``, ``mean_b``, ``difference`` (A − B), ``better`` (sentences on which A, and B, is
        better), and of :func:`welch`; numbers that are not defined are None.
    """
    scores = [
        [metric.score(metric.statistics(line[side], line[2])) for line in lines] for side in (0, 1)
    ]
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
    }


def welch(
    a: Sequence[float], b: Sequence[float], higher_is_better: bool
) -> dict[str, float | None]:
    """Welch's t-test, and the paired one beside it.

    Returns:
        ``t``, ``df``; ``p``, two-sided; ``p_one_sided``, that A is not better than B; ``p_paired``,
        two-sided. None where there are fewer than two sentences, or where nothing varies.

    Raises:
        UserError: scipy is not installed.
    """
    stats = scipy_stats()
    names = ("t", "df", "p", "p_one_sided", "p_paired")
    found: dict[str, float | None] = dict.fromkeys(names)
    if len(a) < 2:
        return found
    if len(set(a)) > 1 or len(set(b)) > 1:
        side = "greater" if higher_is_better else "less"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of one side all are the same
            test = stats.ttest_ind(a, b, equal_var=False)
            one = stats.ttest_ind(a, b, equal_var=False, alternative=side)
        numbers = (test.statistic, test.df, test.pvalue, one.pvalue)
        found |= dict(zip(names, map(_defined, numbers)))
    if len({x - y for x, y in zip(a, b)}) > 1:
        found["p_paired"] = _defined(stats.ttest_rel(a, b).pvalue)
    return found


def _defined(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def scipy_stats() -> ModuleType:
    try:
        from scipy import stats
    except ImportError as error:
        raise UserError(
            "the t-test needs the library scipy; install it: pip install 'lev_plugins[report]'"
        ) from error
    return stats
