"""Which of many items are computed together."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from .errors import UserError, require_count

T = TypeVar("T")
R = TypeVar("R")
BUFFER = 1024  #: items of a stream that are taken, sorted by length and worked on together


class Pause:
    """An item of a stream which says that no more come for now: what came before is answered."""


def in_batches(
    work: Callable[[list[T]], Iterable[R]], items: Sequence[T], lengths: Iterable[int], size: int
) -> list[R]:
    """Returns the results of ``work``, in order; it is given ``size`` items of like length.

    The shortest come first. Raises UserError for a size below 1.
    """
    require_count("batch_size", size)
    sizes = list(lengths)
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    results: dict[int, R] = {}
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        batch = [items[number] for number in numbers]
        results |= zip(numbers, work(batch), strict=True)
    return [results[number] for number in range(len(items))]


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
