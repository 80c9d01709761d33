"""Several examples in one row, so that little of a batch is padding (paper, §4.1)."""

from typing import List, Sequence

import numpy as np


def pack(sizes: Sequence[int], latents: Sequence[int], row: int, most: int) -> List[List[int]]:
    """Puts examples into rows, first fit by falling size.

    Args:
        sizes: pieces of each example.
        latents: decoder positions of each example.
        row: most pieces in a row.
        most: most decoder positions in a row.

    Returns:
        the examples of each row, each example once; one that is longer than a row has its own.
    """
    order = np.argsort(-np.asarray(sizes), kind="stable")
    rows: List[List[int]] = []
    # rows by the room that is left in them: all others are too full for what comes
    left: List[List[int]] = [[] for _ in range(row + 1)]
    room_of: List[List[int]] = []
    for example in order.tolist():
        size, needs = sizes[example], latents[example]
        found = _roomy(left, room_of, size, needs, row)
        if found is None:
            found = len(rows)
            rows.append([])
            room_of.append([row, most])
        rows[found].append(example)
        room_of[found][0] -= size
        room_of[found][1] -= needs
        if room_of[found][0] > 0 and room_of[found][1] > 0:
            left[room_of[found][0]].append(found)
    return rows


def _roomy(
    left: List[List[int]], room_of: List[List[int]], size: int, needs: int, row: int
) -> "int | None":
    """Takes out the fullest row that still has room, None where there is none."""
    for room in range(size, row + 1):
        for place, candidate in enumerate(left[room]):
            if room_of[candidate][1] >= needs:
                return left[room].pop(place)
    return None
