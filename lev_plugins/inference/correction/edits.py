"""What was changed: minimal scripts between two sequences, and rewrites of what was typed.

A script is a list of changes ``(i, j, k, l)``: ``before[i:j]`` gives way to ``after[k:l]``. Changes
are in order, and at least one kept item lies between two of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...ops.sequences import common_ends

Change = tuple[int, int, int, int]

_FIRST_BAND = 8
#: Cells of the table beyond which two texts are taken to have nothing in common.
MOST_CELLS = 4_000_000
_COST = 1 << 24  # a changed item outweighs any number of separate changes
_NEVER = 1 << 60


def script(before: Sequence[object], after: Sequence[object]) -> list[Change]:
    """Make ``before`` into ``after`` with as few items deleted and inserted as possible.

    Edit distance without substitutions, as the expert policy's (Levenshtein Transformer paper,
    Eq. 8); of all such scripts one with the fewest separate changes. Texts so different that the
    table would have more than :data:`MOST_CELLS` cells differ by a single change, from their
    first to their last difference.
    """
    first, last = common_ends(before, after)
    x, y = before[first : len(before) - last], after[first : len(after) - last]
    if not x and not y:
        return []
    found = [(0, len(x), 0, len(y))] if not x or not y else _aligned(x, y)
    return [(i + first, j + first, k + first, m + first) for i, j, k, m in found]


def _aligned(x: Sequence[object], y: Sequence[object]) -> list[Change]:
    """Tries wider and wider bands around the diagonal; no script of cost c leaves a band of c."""
    longest = max(len(x), len(y))
    band = max(_FIRST_BAND, abs(len(x) - len(y)))
    while (len(x) + 1) * (2 * band + 1) <= MOST_CELLS:
        cost, kept = _banded(x, y, band)
        if cost <= band or band >= longest:
            return gaps(kept, len(x), len(y))
        band *= 2
    return [(0, len(x), 0, len(y))]


def splice(text: str, edits: Iterable[tuple[int, int, str]], start: int = 0) -> str:
    """``text[start:]`` with edits made: (start, end, new text), disjoint and in order."""
    parts = []
    for first, last, after in edits:
        parts += [text[start:first], after]
        start = last
    return "".join(parts) + text[start:]


def gaps(kept: Sequence[tuple[int, int]], n: int, m: int) -> list[Change]:
    """The changes between kept pairs (i, j) of n items before and m after, in order."""
    found = []
    i = k = 0
    for j, end in [*kept, (n, m)]:
        if j > i or end > k:
            found.append((i, j, k, end))
        i, k = j + 1, end + 1
    return found


def _banded(
    x: Sequence[object], y: Sequence[object], band: int
) -> tuple[int, list[tuple[int, int]]]:
    """Cost of the best script inside a band, and the pairs (i, j) that it keeps.

    Cell d of row i is y's first ``i + d − band`` items. Two tables: scripts that end with a kept
    item, and scripts that end inside a change; entering a change costs 1, each of its items
    :data:`_COST`.
    """
    width = 2 * band + 1
    kept_row, open_row = [_NEVER] * width, [_NEVER] * width
    back: list[tuple[bytearray, bytearray]] = []
    for i in range(len(x) + 1):
        kept_now, open_now = [_NEVER] * width, [_NEVER] * width
        kept_now[band] = _NEVER if i else 0
        from_kept, from_open = bytearray(width), bytearray(width)
        for d in range(max(0, band - i), min(width, len(y) - i + band + 1)):
            j = i + d - band
            if i and j and x[i - 1] == y[j - 1]:
                inside = open_row[d] < kept_row[d]
                kept_now[d] = open_row[d] if inside else kept_row[d]
                from_kept[d] = inside
            best, way = _NEVER, 0
            if i and d + 1 < width:
                best, way = open_row[d + 1], 0
                if kept_row[d + 1] + 1 < best:
                    best, way = kept_row[d + 1] + 1, 1
            if j and d:
                if open_now[d - 1] < best:
                    best, way = open_now[d - 1], 2
                if kept_now[d - 1] + 1 < best:
                    best, way = kept_now[d - 1] + 1, 3
            if best < _NEVER:
                open_now[d], from_open[d] = best + _COST, way
        kept_row, open_row = kept_now, open_now
        back.append((from_kept, from_open))
    end = len(y) - len(x) + band
    changing = open_row[end] < kept_row[end]
    cost = min(open_row[end], kept_row[end]) // _COST
    return cost, _kept_pairs(back, len(x), len(y), band, changing)


def _kept_pairs(
    back: Sequence[tuple[bytearray, bytearray]], i: int, j: int, band: int, changing: bool
) -> list[tuple[int, int]]:
    pairs = []
    while i or j:
        d = j - i + band
        if changing:
            way = back[i][1][d]
            i, j = (i - 1, j) if way < 2 else (i, j - 1)
            changing = way in (0, 2)
        else:
            changing = bool(back[i][0][d])
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


@dataclass(frozen=True)
class Rewrite:
    """``shown[start:end]`` gives way to ``after``; the model read it at ``read[begin:stop]``."""

    start: int
    end: int
    after: str
    begin: int
    stop: int


def rewrites(shown: str, read: str, written: str) -> list[Rewrite]:
    """What turns a text as it was typed into what a model wrote.

    Args:
        read: the text after it went through the model's text processing and back, which may
            have normalised it. Where ``shown`` and ``read`` differ and the model changed nothing,
            ``shown`` stays.

    Returns:
        disjoint, in order; minimal (:func:`script`) where ``shown`` and ``read`` are the same.
    """
    changes, blocks = script(read, written), script(shown, read)
    found = []
    for i, j, k, m in _grown(changes, blocks):
        start, end = _typed(blocks, i, True), _typed(blocks, j, False)
        end = max(start, end)
        after = written[k:m]
        if shown[start:end] != after:
            found.append(Rewrite(start, end, after, i, j))
    return found


def _grown(changes: Sequence[Change], blocks: Sequence[Change]) -> list[Change]:
    """Changes widened to the whole of every normalised stretch that they reach into."""
    found: list[Change] = []
    for change in changes:
        i, j, k, m = change
        for _, _, begin, stop in blocks:
            if begin < j and stop > i:
                i, k = min(i, begin), k - max(0, i - begin)
                j, m = max(j, stop), m + max(0, stop - j)
        if found and i <= found[-1][1]:
            i, _, k, _ = found.pop()
        found.append((i, j, k, m))
    return found


def _typed(blocks: Sequence[Change], place: int, left: bool) -> int:
    """Where a place of the text as read is in the text as typed.

    What was dropped just there stays outside of a change: before its left end, behind its right.
    """
    shift = 0
    for _, end, begin, stop in blocks:
        if stop > place or (begin >= place and not left):
            break
        shift = end - stop
    return place + shift
