"""What sequences have in common."""

from collections.abc import Sequence


def common_ends(*rows: Sequence[object]) -> tuple[int, int]:
    """How many items all begin with, and how many of the others all end with."""
    shortest = min(map(len, rows))
    start = 0
    while start < shortest and all(row[start] == rows[0][start] for row in rows[1:]):
        start += 1
    end = 0
    while end < shortest - start and all(row[-1 - end] == rows[0][-1 - end] for row in rows[1:]):
        end += 1
    return start, end
