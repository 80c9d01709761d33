"""Batches of items of like length."""

import itertools
import random
from collections.abc import Iterator

import pytest

from lev_runtime.batching import Prices, in_batches

Pair = tuple[int, int]


def runs(items: list[Pair], size: int) -> Iterator[list[list[Pair]]]:
    """Yields every way to cut items into runs of at most ``size``."""
    if not items:
        yield []
    for end in range(1, min(size, len(items)) + 1):
        for rest in runs(items[end:], size):
            yield [items[:end], *rest]


def cost(batches: list[list[Pair]], prices: Prices) -> float:
    """Returns what padded batches and their calls cost."""
    costs = []
    for batch in batches:
        source, draft = map(max, zip(*batch))
        padded = len(batch) * (prices.source * source + prices.draft * draft)
        costs.append(prices.call + padded)
    return sum(costs)


@pytest.mark.parametrize("prices", [Prices(0.0), Prices(3.0, 1.0, 4.0), Prices(1000.0, 2.0, 1.0)])
@pytest.mark.parametrize("longest", [0, 30])
def test_batches_cost_least_of_all_ways_to_cut_their_order(prices, longest):
    numbers = random.Random(1)
    for _ in range(20):
        count, size = numbers.randrange(1, 9), numbers.randrange(1, 5)
        pairs = [(numbers.randrange(1, 30), numbers.randint(0, longest)) for _ in range(count)]
        batches: list[list[Pair]] = []

        def work(batch: list[Pair], batches=batches) -> list[int]:
            batches.append(batch)
            return [source - draft for source, draft in batch]

        answers = in_batches(work, pairs, pairs, size, prices)
        assert answers == [source - draft for source, draft in pairs]
        assert max(map(len, batches)) <= size
        order = list(itertools.chain(*batches))
        assert cost(batches, prices) == pytest.approx(
            min(cost(each, prices) for each in runs(order, size))
        )


def test_drafts_of_like_length_come_together_and_of_these_like_sources():
    batches = []

    def work(batch: list[Pair]) -> list[Pair]:
        batches.append(batch)
        return batch

    pairs = [(9, 20), (40, 3), (30, 21), (3, 22), (4, 3), (30, 3)]
    assert in_batches(work, pairs, pairs, 3) == pairs
    assert batches == [[(4, 3), (30, 3), (40, 3)], [(3, 22), (9, 20), (30, 21)]]


def test_without_a_price_of_a_call_batches_are_full():
    batches = []

    def work(batch: list[str]) -> list[str]:
        batches.append(batch)
        return batch

    texts = ["ccc", "a", "bb", "dddd", "e"]
    assert in_batches(work, texts, map(len, texts), 2) == texts
    assert batches == [["a", "e"], ["bb", "ccc"], ["dddd"]]
    batches.clear()
    assert in_batches(work, [], [], 2) == in_batches(work, [], [], 2, Prices(1.0)) == batches == []
