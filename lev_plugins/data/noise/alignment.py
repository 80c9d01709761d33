"""Where two texts differ: a minimal script of substitutions, insertions and deletions."""

from collections.abc import Sequence

import numpy as np

from ...ops.sequences import common_ends

Change = tuple[int, int, int, int]
#: Cells of the table beyond which two texts are not aligned (bytes of memory).
MOST_CELLS = 64_000_000

_KEEP, _CHANGE, _DELETE, _INSERT = 0, 1, 2, 3


def changes(before: Sequence[str], after: Sequence[str]) -> list[Change] | None:
    """Stretches ``before[i:j]`` that became ``after[k:l]``, as ``(i, j, k, l)``, in order.

    They come of a script with as few substitutions, insertions and deletions as possible
    (Levenshtein distance); neighbouring ones are one stretch. None for two texts so long and so
    different that the table would have more than :data:`MOST_CELLS` cells.
    """
    first, last = common_ends(before, after)
    x, y = before[first : len(before) - last], after[first : len(after) - last]
    if (len(x) + 1) * (len(y) + 1) > MOST_CELLS:
        return None
    found: list[Change] = []
    for i, j, k, m in _steps(x, y):
        i, j, k, m = i + first, j + first, k + first, m + first
        if found and found[-1][1] == i and found[-1][3] == k:
            found[-1] = (found[-1][0], j, found[-1][2], m)
        else:
            found.append((i, j, k, m))
    return found


def _steps(x: Sequence[str], y: Sequence[str]) -> list[Change]:
    """The single edits, in order."""
    table = _moves(x, y)
    i, j, found = len(x), len(y), []
    while i or j:
        move = table[i, j] if i and j else (_DELETE if i else _INSERT)
        a, b = i - (move != _INSERT), j - (move != _DELETE)
        if move != _KEEP:
            found.append((a, i, b, j))
        i, j = a, b
    return found[::-1]


def _moves(x: Sequence[str], y: Sequence[str]) -> np.ndarray:
    """The last edit of a best script from x[:i] to y[:j], bytes, (N + 1) × (M + 1)."""
    numbers: dict[str, int] = {}
    left = [numbers.setdefault(one, len(numbers)) for one in x]
    right = np.array([numbers.setdefault(one, len(numbers)) for one in y], dtype=np.int64)
    moves = np.zeros((len(x) + 1, len(y) + 1), dtype=np.uint8)
    across = np.arange(len(y) + 1)
    row = across.copy()
    for i, number in enumerate(left, start=1):
        differs = right != number
        best = row + 1  # a deletion
        np.minimum(best[1:], row[:-1] + differs, out=best[1:])
        # an insertion costs 1 for every step to the right
        best = np.minimum.accumulate(best - across) + across
        moves[i, 1:] = np.where(
            best[1:] == row[:-1] + differs,
            differs,  # _KEEP or _CHANGE
            np.where(best[1:] == row[1:] + 1, _DELETE, _INSERT),
        )
        row = best
    return moves
