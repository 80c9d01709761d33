"""How often a repair like this one needs fewer edits than the draft.

The numbers of confidence.json are fitted by ``benchmarks/translation_history.py --fit``: two
logistic regressions, which of the look-ups of a place needs fewer edits, and whether a repair does;
and for some shares of right repairs the least probability from which on the mean is so large. (The
least from which on so many were right in other projects follows single projects: on thirteen, 27 %
of the changed entries at 78 % fewer edits, and 29 % at 81 % by the mean.)
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

import numpy as np

from lev_runtime.logistic import logistic

_NUMBERS = json.loads(resources.files(__package__).joinpath("confidence.json").read_text("utf-8"))
Weights = dict[str, float]
Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
CHOICE: Weights = _NUMBERS["choice"]
WEIGHTS: Weights = _NUMBERS["weights"]
# of 512 repairs in part that say something else than their source, 6 are what was written, in seven
# projects and the documentation of Python
ACCEPTED = 0.01
FEWEST = 10  # outcomes that say anything


def probability(features: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS) -> float:
    """Returns the probability of a repair by its features; those without a weight do not count."""
    score = sum(weights.get(name, 0.0) * value for name, value in features.items())
    return 1 / (1 + math.exp(-score - weights["bias"]))


def least_probability(precision: float) -> float:
    """Returns the probability from which on so large a share of repairs is right; 0 for none."""
    shares, least = zip((0, 0), *_NUMBERS["least"])
    return float(np.interp(precision, shares, least))


def lowest(chances: Iterable[float], precision: float) -> float:
    """Returns the lowest probability at and above which the mean of :data:`FEWEST` probabilities or
    more is so large; infinite if there is none."""
    least, total = math.inf, 0.0
    for count, chance in enumerate(sorted(chances, reverse=True), start=1):
        total += chance
        if count >= FEWEST and total >= precision * count:
            least = chance
    return least


def log_odds(chance: float) -> float:
    """Returns the logarithm of the odds of a probability, which is kept from 0 and 1."""
    chance = min(max(chance, 1e-4), 1 - 1e-4)
    return math.log(chance / (1 - chance))


def regression(names: Sequence[str], table: Table, labels: Table, counts: Table) -> Weights:
    """Returns the weights of a logistic regression.

    Args:
        names: of the columns of the table, among them "bias".
        counts: how often a row counts.
    """
    ridge = np.full(len(names), 2.0)
    ridge[names.index("bias")] = 1e-6
    weights = logistic(table, labels, counts.tolist(), ridge)
    return dict(zip(names, np.round(weights, 3).tolist()))


def fitted(cases: Sequence[tuple[Mapping[str, float], bool]]) -> Weights:
    """Returns the weights of :func:`probability`, from features and whether it was so."""
    names = ["bias", *sorted({name for features, _ in cases for name in features})]
    table = np.zeros((len(cases), len(names)))
    for row, (features, _) in zip(table, cases):
        known = {"bias": 1.0, **features}
        row[:] = [known.get(name, 0.0) for name in names]
    labels = np.array([is_better for _, is_better in cases], float)
    return regression(names, table, labels, np.ones(len(cases)))
