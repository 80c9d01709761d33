"""Which of many items are computed together."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import UserError, require_count

T = TypeVar("T")
R = TypeVar("R")
Lengths = NDArray[np.int64]
STEP = 1.3  #: drafts of one class differ by less than this factor
BUFFER = 1024  #: items of a stream that are taken, sorted by length and worked on together


class Pause:
    """An item of a stream which says that no more come for now: what came before is answered."""


class Prices(NamedTuple):
    """Costs of a batch, in one unit.

    call: of the batch itself. source, draft: of each of their tokens, padding too.
    """

    call: float
    source: float = 1.0
    draft: float = 0.0


def in_batches(
    work: Callable[[list[T]], Iterable[R]],
    items: Sequence[T],
    lengths: Iterable[tuple[int, int] | int],
    size: int,
    prices: Prices | None = None,
) -> list[R]:
    """Returns the results of ``work``, in order; it is given up to ``size`` items of like length.

    Args:
        lengths: of each item, in tokens, or of its source and its draft. Each side is padded to the
            longest of its batch. Drafts of like length come together, the shortest first.
        prices: batches are those that cost least together. None: all but the last are full.

    Raises:
        UserError: a size below 1.
    """
    require_count("batch_size", size)
    pairs = [length if isinstance(length, tuple) else (length, 0) for length in lengths]
    sizes = np.array(pairs, np.int64).reshape(-1, 2)
    source, draft = sizes.T
    classes = np.floor(np.log(np.maximum(draft, 1)) / math.log(STEP))
    order = np.lexsort((draft, source, classes))  # the last is the first to decide
    edges: Iterable[int] = range(0, len(order) + size, size)
    if prices is not None:
        edges = _cheapest(sizes[order], size, prices)
    return _in_order(work, items, (order[start:end].tolist() for start, end in pairwise(edges)))


def _in_order(
    work: Callable[[list[T]], Iterable[R]], items: Sequence[T], batches: Iterable[list[int]]
) -> list[R]:
    """Returns the results of ``work``, in order; it is given a batch of items by their numbers."""
    results: dict[int, R] = {}
    for numbers in batches:
        results |= zip(numbers, work([items[number] for number in numbers]), strict=True)
    return [results[number] for number in range(len(items))]


def _cheapest(sizes: Lengths, size: int, prices: Prices) -> list[int]:
    """Returns the edges of the batches that cost least of all together; ``sizes``: N × 2."""
    costs = np.zeros(len(sizes) + 1)  # of the first items
    starts = [0]  # of their last batch
    for end in range(1, len(costs)):
        first = max(end - size, 0)
        widths = np.maximum.accumulate(sizes[first:end][::-1])[::-1]  # of a batch from each start
        counts = np.arange(end - first, 0, -1)
        totals = costs[first:end] + prices.call + counts * (widths @ prices[1:])
        best = int(totals.argmin())
        costs[end] = totals[best]
        starts.append(first + best)
    edges = [len(sizes)]
    while edges[-1]:
        edges.append(starts[edges[-1]])
    return edges[::-1]


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


def in_budget(
    work: Callable[[list[T]], Iterable[R]],
    items: Sequence[T],
    sizes: Sequence[tuple[int, int]],
    budget: int,
) -> list[R]:
    """Returns the results of ``work``, in order; it is given items of like size, the least first.

    Args:
        sizes: of both sides of each item. budget: of :func:`by_budget`, of the larger one.
    """
    order = sorted(range(len(items)), key=sizes.__getitem__)
    batches = by_budget([max(sizes[number]) for number in order], budget)
    return _in_order(work, items, ([order[place] for place in batch] for batch in batches))
