"""Words of a corrected text against those it came from: right, corrected and miscorrected.

Words are what stands between spaces. A word of the reference is right in a text where an alignment
of fewest errors (words inserted, deleted, substituted) sets it against an equal word.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass

Words = Sequence[str]


@dataclass(frozen=True)
class CorrectionCounts:
    """The words of references by what they were in the source and what they are in the output.

    right_before: right in the source. miscorrected: of these, no longer right in the output.
    corrected: wrong in the source and right in the output.
    """

    words: int = 0
    right_before: int = 0
    corrected: int = 0
    miscorrected: int = 0

    @property
    def wrong_before(self) -> int:
        """Words that were to be corrected."""
        return self.words - self.right_before

    @property
    def right(self) -> int:
        """Words that are right in the output."""
        return self.right_before + self.corrected - self.miscorrected

    @property
    def word_accuracy(self) -> float:
        """Percent of the words that are right in the output."""
        return percent(self.right, self.words)

    @property
    def correction_recall(self) -> float:
        """Percent of the wrong words that were corrected; 0 where none was wrong."""
        return percent(self.corrected, self.wrong_before)

    @property
    def miscorrection_rate(self) -> float:
        """Percent of the right words that were miscorrected; 0 where none was right."""
        return percent(self.miscorrected, self.right_before)


def correction_counts(sources: Words, outputs: Words, references: Words) -> CorrectionCounts:
    """Counts what a correction did to the words of a text.

    Args:
        sources, outputs, references: lines before and after the correction, and as they should be.

    Returns:
        the counts, summed over the lines.

    Raises:
        ValueError: not all have the same number of lines.
    """
    lines = zip(sources, outputs, references, strict=True)
    counts = [astuple(line_counts(*line)) for line in lines]
    return CorrectionCounts(*map(sum, zip(*counts)))


def line_counts(source: str, output: str, reference: str) -> CorrectionCounts:
    """The counts of one line."""
    wanted = reference.split()
    right_before = right_words(source.split(), wanted)
    right_after = right_words(output.split(), wanted)
    corrected = len(right_after - right_before)
    miscorrected = len(right_before - right_after)
    return CorrectionCounts(len(wanted), len(right_before), corrected, miscorrected)


def right_words(words: Words, reference: Words) -> set[int]:
    """Which words of the reference, counted from 0, are right in a text."""
    return {j for i, j in aligned(words, reference) if words[i] == reference[j]}


def is_char_tokenized(lines: Iterable[str]) -> bool:
    """Returns whether lines are characters, as models of these write: ``n e w ▁ o n e``.

    More than half of the lines that hold anything have two tokens or more, all of one character.
    """
    filled = single = 0
    for line in lines:
        tokens = line.split()
        filled += bool(tokens)
        single += len(tokens) > 1 and max(map(len, tokens)) == 1
    return 2 * single > filled


# ---------------------------------------------------------------- alignment


def aligned(words: Words, reference: Words) -> list[tuple[int, int]]:
    """Pairs (i, j) of equal or substituted words in an alignment of fewest errors.

    Of those alignments it is one with the most equal words, and of these the one whose pairs lie
    furthest to the right. Words that were inserted or deleted are in no pair.

    Args:
        words, reference: N and M words. Time and memory are N·M at worst; what both end with
            costs nothing in memory.
    """
    if len(words) == len(reference) == 1 or words == reference:
        return [(i, i) for i in range(len(reference))]
    n, m = len(words), len(reference)
    ends: list[tuple[int, int]] = []
    while n and m and words[n - 1] == reference[m - 1]:
        n, m = n - 1, m - 1
        ends.append((n, m))
    # An error costs one more than all words could be equal: fewest errors, then most equal words.
    error = min(n, m) + 1
    table = _costs(words[:n], reference[:m], error)
    pairs = []
    i, j = n, m
    while i and j:
        equal = words[i - 1] == reference[j - 1]
        cost = -1 if equal else error
        if table[i][j] == table[i - 1][j - 1] + cost:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif table[i][j] == table[i - 1][j] + error:
            i -= 1
        else:
            j -= 1
    return [*reversed(pairs), *reversed(ends)]


def _costs(words: Words, reference: Words, error: int) -> list[list[int]]:
    """``table[i][j]``: errors · ``error`` − equal words, of i words against j of the reference."""
    above = [j * error for j in range(len(reference) + 1)]
    table = [above]
    for i, word in enumerate(words, start=1):
        left = i * error
        row = [left]
        for j, other in enumerate(reference):
            across = above[j] + (-1 if word == other else error)
            left = min(across, above[j + 1] + error, left + error)
            row.append(left)
        table.append(row)
        above = row
    return table


def percent(part: float, total: float) -> float:
    """A part in percent; of nothing 0, or 100 where there is a part."""
    return 100 * part / total if total else 100.0 * (part > 0)
