"""Which of many items are computed together."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def by_length(lengths: Iterable[int], size: int) -> Iterator[list[int]]:
    """The numbers of items in batches of like length, ``size`` each, the shortest first."""
    known = list(lengths)
    order = sorted(range(len(known)), key=known.__getitem__)
    for start in range(0, len(order), size):
        yield order[start : start + size]


def in_batches(
    work: Callable[[list[T]], Iterable[R]], items: Sequence[T], lengths: Iterable[int], size: int
) -> list[R]:
    """What ``work`` makes of each item, in order; it is given the batches of :func:`by_length`."""
    found: dict[int, R] = {}
    for numbers in by_length(lengths, size):
        found |= zip(numbers, work([items[number] for number in numbers]), strict=True)
    return [found[number] for number in range(len(items))]


def by_budget(lengths: Sequence[int], budget: int, size: int | None = None) -> Iterator[list[int]]:
    """The numbers of items in their order, as many at a time as fit, padded; one at least.

    Args:
        lengths: of each item, in any unit. budget: of a padded batch, in the same.
        size: items of a batch, at most.
    """
    batch: list[int] = []
    widest = 0
    for number, length in enumerate(lengths):
        widest = max(widest, length)
        if batch and (widest * (len(batch) + 1) > budget or len(batch) == size):
            yield batch
            batch, widest = [], length
        batch.append(number)
    if batch:
        yield batch
