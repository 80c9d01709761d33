"""What noise did to a text: lines, words and characters that changed."""

from collections.abc import Sequence
from dataclasses import dataclass

import editdistance

from .clusters import clusters, split_words


@dataclass
class Counts:
    """What was done to a text; characters are counted without spaces, grapheme by grapheme."""

    lines: int = 0
    changed_lines: int = 0
    words: int = 0
    changed_words: int = 0
    characters: int = 0
    changed_characters: int = 0

    def add(self, clean: str, noisy: str) -> None:
        """Count a line; of a changed word, the edits between the two versions."""
        self.lines += 1
        self.changed_lines += clean != noisy
        # noise neither cuts nor joins words
        for one, other in zip(split_words(clean)[::2], split_words(noisy)[::2], strict=True):
            before = clusters(one)
            self.words += bool(one)
            self.characters += len(before)
            if one != other:
                self.changed_words += 1
                self.changed_characters += changes(before, clusters(other))


def changes(before: Sequence[str], after: Sequence[str], long: int = 2048, most: int = 64) -> int:
    """Levenshtein distance; quick for long words with few changes, such as a text without spaces.

    Args:
        long: items of the longer one up to which all pairs of places are looked at.
        most: changes up to which longer ones are followed along their diagonals.
    """
    if max(len(before), len(after)) > long:
        found = _few_changes(before, after, most)
        if found is not None:
            return found
    return int(editdistance.eval(before, after))


def _few_changes(before: Sequence[str], after: Sequence[str], most: int) -> int | None:
    """The distance if it is no more than ``most`` (Ukkonen, 1985: the furthest place on each
    diagonal that so many changes reach)."""
    goal = len(after) - len(before)
    furthest = {0: _run(before, after, 0, 0)}
    for changed in range(most + 1):
        if furthest.get(goal, -1) >= len(before):
            return changed
        reached = furthest
        furthest = {}
        for diagonal in range(-changed - 1, changed + 2):
            place = max(
                reached.get(diagonal, -2) + 1,  # another item
                reached.get(diagonal - 1, -2),  # one more
                reached.get(diagonal + 1, -2) + 1,  # one less
            )
            place = min(place, len(before), len(after) - diagonal)
            if place >= max(0, -diagonal):
                furthest[diagonal] = _run(before, after, place, place + diagonal)
    return None


def _run(before: Sequence[str], after: Sequence[str], i: int, j: int) -> int:
    """Where ``before[i:]`` and ``after[j:]`` begin to differ, as a place in ``before``."""
    step = 1
    while step:
        if i + step <= len(before) and before[i : i + step] == after[j : j + step]:
            i, j, step = i + step, j + step, min(2 * step, 1024)
        else:
            step //= 2
    return i


def summarise(counts: Counts) -> str:
    """What was changed, in one line."""

    def share(part: int, whole: int) -> str:
        return f"{part:,} of {whole:,} ({100 * part / max(whole, 1):.2f} %)"

    return (
        f"changed: lines {share(counts.changed_lines, counts.lines)}, words "
        f"{share(counts.changed_words, counts.words)}, characters "
        f"{share(counts.changed_characters, counts.characters)}"
    )
