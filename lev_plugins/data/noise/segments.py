"""Segments of words, a letter or several, in whose place others may stand: tables, and noise."""

import random
from collections.abc import Callable, Mapping, Sequence

from .letters import clusters
from .rng import choose, sample

#: segment → segments that may stand in its place
Table = Mapping[str, Sequence[str]]


def table(alike: str, one_way: str = "") -> dict[str, list[str]]:
    """Of pairs of segments with spaces between: of ``alike`` each may stand for the other, of
    ``one_way`` the second for the first."""
    words, single = alike.split(), one_way.split()
    ways = list(zip(words[::2], words[1::2], strict=True))
    ways += [(other, segment) for segment, other in ways]
    ways += zip(single[::2], single[1::2], strict=True)
    noisy_by_clean: dict[str, list[str]] = {}
    for clean, noisy in ways:
        noisy_by_clean.setdefault(clean, []).append(noisy)
    return noisy_by_clean


def confusing(
    segments: Table,
) -> tuple[
    Callable[[Sequence[str]], list[int]],
    Callable[[Sequence[str], int, random.Random], list[str]],
]:
    """What gives the places of a word where segments begin that others may stand for, and what
    puts others in the place of some."""
    longest = max(len(clusters(segment)) for segment in segments)

    def ways(word: Sequence[str], i: int) -> list[tuple[int, str]]:
        """Ends j of segments from i on, with what may stand in the place of each ``word[i:j]``."""
        ends = range(i + 1, min(i + longest, len(word)) + 1)
        return [(j, noisy) for j in ends for noisy in segments.get("".join(word[i:j]), ())]

    def places(word: Sequence[str]) -> list[int]:
        return [i for i in range(len(word)) if ways(word, i)]

    def confuse(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
        """Confuses segments that do not overlap; sampled by place first, then by segment."""
        changed = list(word)
        taken = set[int]()
        starts = places(word)
        for i in sample(rng, starts, len(starts)):
            open_ways = [way for way in ways(word, i) if not taken & set(range(i, way[0]))]
            if count == 0 or not open_ways:
                continue
            j, noisy = choose(rng, open_ways)
            changed[i:j] = [noisy] + [""] * (j - i - 1)
            taken |= set(range(i, j))
            count -= 1
        return changed

    return places, confuse
