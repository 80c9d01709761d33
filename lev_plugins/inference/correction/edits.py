"""What was changed: minimal scripts between two sequences, and rewrites of what was typed.

A script is a list of changes ``(i, j, k, l)``: ``before[i:j]`` gives way to ``after[k:l]``. Changes
are in order, and at least one kept item lies between two of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Indel

Change = tuple[int, int, int, int]


def script(before: Sequence[object], after: Sequence[object]) -> list[Change]:
    """Make ``before`` into ``after`` with as few items deleted and inserted as possible.

    Edit distance without substitutions, as the expert policy's (Levenshtein Transformer paper,
    Eq. 8).
    """
    same = (one for one in Indel.opcodes(before, after) if one.tag == "equal")
    kept = [
        (one.src_start + n, one.dest_start + n)
        for one in same
        for n in range(one.src_end - one.src_start)
    ]
    return gaps(kept, len(before), len(after))


def gaps(kept: Sequence[tuple[int, int]], n: int, m: int) -> list[Change]:
    """The changes between kept pairs (i, j) of n items before and m after, in order."""
    found = []
    i = k = 0
    for j, end in [*kept, (n, m)]:
        if j > i or end > k:
            found.append((i, j, k, end))
        i, k = j + 1, end + 1
    return found


def splice(text: str, edits: Iterable[tuple[int, int, str]], start: int = 0) -> str:
    """``text[start:]`` with edits made: (start, end, new text), disjoint and in order."""
    parts = []
    for first, last, after in edits:
        parts += [text[start:first], after]
        start = last
    return "".join(parts) + text[start:]


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
