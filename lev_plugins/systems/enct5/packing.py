"""Several examples in one row, so that little of a batch is padding (paper, §4.1)."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np


def pack(sizes: Sequence[int], latents: Sequence[int], row: int, most: int) -> list[list[int]]:
    """Puts examples into rows, the longest first, each into the first row that has room for it.

    Takes O(E log E) steps for E examples, unless it is now subwords and now latents that fill rows.

    Args:
        sizes: subwords of each example, 1 or more.
        latents: decoder positions of each example, 1 or more.
        row: most subwords in a row.
        most: most decoder positions in a row.

    Returns:
        the examples of each row, each example once; one that is longer than a row has its own.
    """
    pieces, positions = (np.asarray(one, dtype=np.int64) for one in (sizes, latents))
    order = np.lexsort((-positions, -pieces)).tolist()
    rows = [[one] for one in order if sizes[one] > row or latents[one] > most]
    short = [one for one in order if sizes[one] <= row and latents[one] <= most]
    room = _RowSpace(len(short), row, most)
    found: list[list[int]] = []
    for (size, needs), alike in groupby(short, lambda one: (sizes[one], latents[one])):
        waiting, done = list(alike), 0
        while done < len(waiting):
            place, count = room.take(size, needs, len(waiting) - done)
            if place == len(found):
                found.append([])
            found[place] += waiting[done : done + count]
            done += count
    return rows + found


class _RowSpace:
    """What is left in rows, as a tree: a node has the most that one of the rows below it has.

    Node 1 is the root, 2n and 2n + 1 are below n, and the last ``leaves`` are the rows.
    """

    def __init__(self, rows: int, pieces: int, latents: int) -> None:
        self.leaves = 1 << max(rows - 1, 0).bit_length()
        self.pieces = [pieces] * (2 * self.leaves)
        self.latents = [latents] * (2 * self.leaves)

    def take(self, pieces: int, latents: int, count: int) -> tuple[int, int]:
        """Takes room for equal examples in the first row that has enough for one of them.

        There has to be such a row.

        Args:
            pieces, latents: of one of them.
            count: how many there are.

        Returns:
            the row's number, and how many it takes.
        """
        node = self._first(pieces, latents)
        row = node - self.leaves
        count = min(count, self.pieces[node] // pieces, self.latents[node] // latents)
        self.pieces[node] -= count * pieces
        self.latents[node] -= count * latents
        while node > 1:
            node //= 2
            self.pieces[node] = max(self.pieces[2 * node], self.pieces[2 * node + 1])
            self.latents[node] = max(self.latents[2 * node], self.latents[2 * node + 1])
        return row, count

    def _first(self, pieces: int, latents: int) -> int:
        """The first leaf with so much room: down where there is some, else to the right."""
        node = 1
        while node < self.leaves:
            node *= 2
            while self.pieces[node] < pieces or self.latents[node] < latents:
                while node % 2:
                    node //= 2
                node += 1
        return node
