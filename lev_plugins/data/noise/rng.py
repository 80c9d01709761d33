"""Random numbers of a sentence, and what is sampled with them.

Only :meth:`random.Random.random` is called: what it gives for a seed is the same in every version
of Python, which its other methods do not promise.
"""

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

Item = TypeVar("Item")

#: The epoch of noise that is the same every time: validation, test sets, the noise command.
FIXED = 0


def sentence_random(seed: int, epoch: int, number: int, run: int = 0) -> random.Random:
    """Returns the random numbers of a sentence, from 0, in an epoch, from 1 or FIXED.

    seed: of the noise. run: seed of the training, 0 elsewhere.
    """
    return random.Random(f"noise {seed} {epoch} {number} {run}")  # goes through SHA-512


def choose(rng: random.Random, items: Sequence[Item]) -> Item:
    """Samples an item, each as likely as any other."""
    return items[int(rng.random() * len(items))]


def choose_weighted(rng: random.Random, items: Sequence[Item], weights: Sequence[float]) -> Item:
    """Samples an item, each as likely as its weight says; the weights need not add up to 1."""
    ends = list(accumulate(weights))
    place = bisect_right(ends, rng.random() * ends[-1])
    return items[min(place, len(items) - 1)]  # the product may be rounded up to the end


def sample(rng: random.Random, items: Sequence[Item], count: int) -> list[Item]:
    """Samples ``count`` different items, or all of them, in order of sampling."""
    pool = list(items)
    count = min(count, len(pool))
    for i in range(count):
        j = i + int(rng.random() * (len(pool) - i))
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:count]


def budget(size: int, rate: float) -> int:
    """Returns how many of ``size`` to change: their share, rounded down, from 1 to 10.

    0 where there are none or the rate is 0.
    """
    if size == 0 or rate == 0:
        return 0
    return min(10, max(1, int(size * rate + 1e-9)))  # 0.29 · 100 is a little below 29
