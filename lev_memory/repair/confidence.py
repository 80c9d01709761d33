"""How often a repair like this one needs fewer edits than the draft.

The numbers of confidence.json are fitted by ``benchmarks/translation_history.py --fit``: two
logistic regressions, which of the look-ups of a place needs fewer edits, and whether a repair does;
and for some shares of right repairs the least probability from which on so many are right.
"""

import json
import math
from collections.abc import Mapping
from importlib import resources

import numpy as np

_NUMBERS = json.loads(resources.files(__package__).joinpath("confidence.json").read_text("utf-8"))
CHOICE: dict[str, float] = _NUMBERS["choice"]
WEIGHTS: dict[str, float] = _NUMBERS["weights"]


def probability(features: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS) -> float:
    """Returns the probability of a repair by its features; those without a weight do not count."""
    score = sum(weights.get(name, 0.0) * value for name, value in features.items())
    return 1 / (1 + math.exp(-score - weights["bias"]))


def least_probability(precision: float) -> float:
    """Returns the probability from which on so large a share of repairs is right."""
    shares, least = zip(*_NUMBERS["least"])
    return float(np.interp(precision, shares, least))
