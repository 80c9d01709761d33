"""Which of many items are computed together."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from .errors import UserError, require_count

T = TypeVar("T")
R = TypeVar("R")
BUFFER = 1024  #: items of a stream that are taken, sorted by length and worked on together


class Pause:
    """An item of a stream which says that no more come for now: what came before is answered."""


def in_batches(
    work: Callable[[list[T]], Iterable[R]],
    items: Sequence[T],
    lengths: Iterable[int],
    size: int,
    call: float | None = None,
) -> list[R]:
    """Returns the results of ``work``, in order; it is given up to ``size`` items of like length.

    The shortest come first.

    Args:
        lengths: of each item, which is padded to the longest of its batch.
        call: what a call of ``work`` costs besides its padded items, in units of length: batches
            are those that cost least together. None: all batches but the last are full.

    Raises:
        UserError: a size below 1.
    """
    require_count("batch_size", size)
    sizes = list(lengths)
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    results: dict[int, R] = {}
    for numbers in _full(order, size) if call is None else _cheapest(order, sizes, size, call):
        batch = [items[number] for number in numbers]
        results |= zip(numbers, work(batch), strict=True)
    return [results[number] for number in range(len(items))]


def _full(order: list[int], size: int) -> Iterator[list[int]]:
    return (order[start : start + size] for start in range(0, len(order), size))


def _cheapest(
    order: list[int], lengths: Sequence[int], size: int, call: float
) -> Iterator[list[int]]:
    """Yields runs of ``order``, shortest items first, with the least cost of all together."""
    costs, starts = [0.0], [0]  # of the first items, and where their last batch begins
    for end, number in enumerate(order, 1):
        width = lengths[number]
        cost, start = min(
            (costs[start] + call + width * (end - start), start)
            for start in range(max(end - size, 0), end)
        )
        costs.append(cost)
        starts.append(start)
    ends = [len(order)]
    while ends[-1]:
        ends.append(starts[ends[-1]])
    for start, end in pairwise(reversed(ends)):
        yield order[start:end]


def chunks(items: Iterable[T | Pause], size: int) -> Iterator[list[T]]:
    """Yields ``size`` items at a time, fewer before a pause.

    Raises:
        UserError: a size below 1; a string, whose characters would be the items.
    """
    if isinstance(items, str | bytes):
        raise UserError(f"texts: takes a list, not {items!r:.60}")
    require_count("buffer", size)
    chunk: list[T] = []
    for item in items:
        if not isinstance(item, Pause):
            chunk.append(item)
        if chunk and (isinstance(item, Pause) or len(chunk) == size):
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def by_budget(lengths: Sequence[int], budget: int, size: int | None = None) -> Iterator[list[int]]:
    """Yields the numbers of items in order, as many at a time as fit, padded; at least one.

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
