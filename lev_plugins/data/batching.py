"""Which of many items are computed together."""

from collections.abc import Iterable, Iterator, Sequence


def by_length(lengths: Iterable[int], size: int) -> Iterator[list[int]]:
    """The numbers of items in batches of like length, ``size`` each, the shortest first."""
    known = list(lengths)
    order = sorted(range(len(known)), key=known.__getitem__)
    for start in range(0, len(order), size):
        yield order[start : start + size]


def by_budget(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """The numbers of items in their order, as many at a time as fit, padded; one at least.

    Args:
        lengths: of each item, in any unit. budget: of a padded batch, in the same.
    """
    batch: list[int] = []
    widest = 0
    for number, length in enumerate(lengths):
        widest = max(widest, length)
        if batch and widest * (len(batch) + 1) > budget:
            yield batch
            batch, widest = [], length
        batch.append(number)
    if batch:
        yield batch
