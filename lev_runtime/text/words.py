"""Counts the words of a corrected text that are right, corrected and miscorrected.

Words are what stands between spaces. A word of the reference is right in a text where an alignment
of fewest errors (words inserted, deleted, substituted) sets it against an equal word.

Edits are counted as ERRANT does (Bryant et al., 2017), but for any language: an edit is a span of
the source and the words that take its place, and it is right where the reference has the same edit.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

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
        """Returns how many words were to be corrected."""
        return self.words - self.right_before

    @property
    def right(self) -> int:
        """Returns how many words are right in the output."""
        return self.right_before + self.corrected - self.miscorrected

    @property
    def word_accuracy(self) -> float:
        """Returns the percentage of words that are right in the output."""
        return percent(self.right, self.words)

    @property
    def correction_recall(self) -> float:
        """Returns the percentage of wrong words that were corrected; 0 where none was wrong."""
        return percent(self.corrected, self.wrong_before)

    @property
    def miscorrection_rate(self) -> float:
        """Returns the percentage of right words that were miscorrected; 0 where none was right."""
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
    """Returns the counts of one line."""
    wanted = reference.split()
    right_before = right_words(source.split(), wanted)
    right_after = right_words(output.split(), wanted)
    corrected = len(right_after - right_before)
    miscorrected = len(right_before - right_after)
    return CorrectionCounts(len(wanted), len(right_before), corrected, miscorrected)


def right_words(words: Words, reference: Words) -> set[int]:
    """Returns which words of the reference, counted from 0, are right in a text."""
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
    """Aligns words with fewest errors; returns pairs (i, j) of equal or substituted words.

    Of those alignments it takes one with the most equal words, and of these the one whose pairs lie
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
    # of i words and j of the reference: errors · error − equal words
    above = [j * error for j in range(m + 1)]
    table = [above]
    for i, word in enumerate(words[:n], start=1):
        left = i * error
        row = [left]
        for j, other in enumerate(reference[:m]):
            across = above[j] + (-1 if word == other else error)
            left = min(across, above[j + 1] + error, left + error)
            row.append(left)
        table.append(row)
        above = row
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


def percent(part: float, total: float) -> float:
    """Returns 100 · part / total. For total = 0: 100 if part > 0, else 0."""
    return 100 * part / total if total else 100.0 * (part > 0)


class WordEdit(NamedTuple):
    """Words ``start`` … ``end`` − 1 of a source become ``words``; start = end: an insertion."""

    start: int
    end: int
    words: tuple[str, ...]


def word_edits(source: Words, target: Words) -> list[WordEdit]:
    """Returns the edits that turn ``source`` into ``target``, in order.

    Words are aligned by :func:`aligned`. What stands between two equal words is one edit. Only in
    spans of as many words on either side each substituted word is an edit of its own.
    """
    equal = [(i, j) for i, j in aligned(source, target) if source[i] == target[j]]
    edits = []
    i = j = 0
    for k, m in [*equal, (len(source), len(target))]:
        if k - i == m - j:
            words = enumerate(target[j:m], start=i)
            edits += [WordEdit(place, place + 1, (word,)) for place, word in words]
        else:
            edits.append(WordEdit(i, k, tuple(target[j:m])))
        i, j = k + 1, m + 1
    return edits


def edit_matches(source: str, output: str, reference: str) -> tuple[int, int, int]:
    """Compares the edits from source to output with those from source to reference, of one line.

    Returns:
        how many were made and are right, were made and are wrong, were needed and are missing.
    """
    words = source.split()
    edits = Counter(word_edits(words, output.split()))
    needed = Counter(word_edits(words, reference.split()))
    right = (edits & needed).total()
    return right, edits.total() - right, needed.total() - right


def precision(matches: Sequence[float]) -> float:
    """Returns the percentage of edits made that are right; 100 where none was made, as ERRANT."""
    right, wrong, _ = matches
    return 100 * right / (right + wrong) if wrong else 100.0


def recall(matches: Sequence[float]) -> float:
    """Returns the percentage of needed edits that were made; 100 where none was, as ERRANT."""
    right, _, missing = matches
    return 100 * right / (right + missing) if missing else 100.0


def f_half(matches: Sequence[float]) -> float:
    """Returns F0.5, which counts precision twice as much as recall; 0 where both are 0."""
    p, r = precision(matches), recall(matches)
    return 1.25 * p * r / (0.25 * p + r) if p + r else 0.0
