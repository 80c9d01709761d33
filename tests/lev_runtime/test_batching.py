"""Batches of items of like length."""

import random
from collections.abc import Iterator

import pytest

from lev_runtime.batching import in_batches


def runs(items: list[int], size: int) -> Iterator[list[list[int]]]:
    """Yields every way to cut items into runs of at most ``size``."""
    if not items:
        yield []
    for end in range(1, min(size, len(items)) + 1):
        for rest in runs(items[end:], size):
            yield [items[:end], *rest]


def cost(batches: list[list[int]], call: float) -> float:
    """Returns what padded batches and their calls cost."""
    return sum(call + max(batch) * len(batch) for batch in batches)


@pytest.mark.parametrize("call", [0.0, 3.0, 1000.0])
def test_batches_cost_least_of_all_ways_to_cut_them(call):
    numbers = random.Random(1)
    for _ in range(20):
        lengths = [numbers.randrange(1, 30) for _ in range(numbers.randrange(1, 9))]
        size = numbers.randrange(1, 5)
        batches: list[list[int]] = []

        def work(batch: list[int], batches=batches) -> list[int]:
            batches.append(batch)
            return [-length for length in batch]

        assert in_batches(work, lengths, lengths, size, call) == [-length for length in lengths]
        assert max(map(len, batches)) <= size
        least = min(cost(each, call) for each in runs(sorted(lengths), size))
        assert cost(batches, call) == pytest.approx(least)


def test_without_a_price_of_a_call_batches_are_full():
    batches = []

    def work(batch: list[str]) -> list[str]:
        batches.append(batch)
        return batch

    texts = ["ccc", "a", "bb", "dddd", "e"]
    assert in_batches(work, texts, map(len, texts), 2) == texts
    assert batches == [["a", "e"], ["bb", "ccc"], ["dddd"]]
    assert in_batches(work, [], [], 2) == in_batches(work, [], [], 2, 1.0) == []
