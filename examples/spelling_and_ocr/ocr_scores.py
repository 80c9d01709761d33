"""Scores of corrected text: how much is right, and what a correction mended and broke.

Words are what stands between blanks. All rates are of the whole text, not means over lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import editdistance

Words = Sequence[str]


@dataclass(frozen=True)
class Scores:
    """Of a text against the clean one.

    lines, words, characters: of the clean text. lines_right: lines that are equal. words_right:
    clean words that stand in the text, by :func:`aligned`. word_errors, character_errors:
    insertions, deletions and substitutions. broken: clean words that were right before and no
    longer are; mended: the other way round.
    """

    lines: int
    words: int
    lines_right: int
    words_right: int
    word_errors: int
    character_errors: int
    characters: int
    mended: int
    broken: int

    @property
    def word_accuracy(self) -> float:
        """Percent of the clean words."""
        return _percent(self.words_right, self.words)

    @property
    def wer(self) -> float:
        """Word errors per hundred clean words."""
        return _percent(self.word_errors, self.words)

    @property
    def cer(self) -> float:
        """Character errors per hundred clean characters, blanks included."""
        return _percent(self.character_errors, self.characters)


def score(outputs: Words, noisy: Words, clean: Words) -> Scores:
    """Scores of ``outputs`` where ``noisy`` is what stood there before; all line by line."""
    lines_right = words_right = mended = broken = 0
    for out, before, right in zip(outputs, noisy, clean, strict=True):
        after_words, before_words = right_words(out, right), right_words(before, right)
        lines_right += out == right
        words_right += len(after_words)
        mended += len(after_words - before_words)
        broken += len(before_words - after_words)
    return Scores(
        lines=len(clean),
        words=sum(len(line.split()) for line in clean),
        lines_right=lines_right,
        words_right=words_right,
        word_errors=word_errors(outputs, clean),
        character_errors=sum(map(editdistance.eval, outputs, clean)),
        characters=sum(map(len, clean)),
        mended=mended,
        broken=broken,
    )


def word_errors(outputs: Words, clean: Words) -> int:
    """Insertions, deletions and substitutions of words, over all lines."""
    return sum(
        editdistance.eval(out.split(), right.split())
        for out, right in zip(outputs, clean, strict=True)
    )


def right_words(line: str, clean: str) -> set[int]:
    """Which words of ``clean``, counted from 0, stand in ``line``."""
    words, wanted = line.split(), clean.split()
    return {j for i, j in aligned(words, wanted) if words[i] == wanted[j]}


def aligned(words: Words, wanted: Words) -> list[tuple[int, int]]:
    """Pairs (i, j) of equal or substituted words in an alignment of fewest errors.

    Of those alignments it is one with the most equal words. Words that were inserted or deleted
    are in no pair.
    """
    if len(words) == len(wanted) == 1 or words == wanted:
        return [(i, i) for i in range(len(wanted))]
    # best[i][j]: (errors, -equal words) of the first i words against the first j wanted
    best = [[(j, 0) for j in range(len(wanted) + 1)]]
    for i, word in enumerate(words, start=1):
        row = [(i, 0)]
        for j, other in enumerate(wanted, start=1):
            row.append(
                min(
                    _step(best[i - 1][j - 1], word == other),
                    _step(best[i - 1][j]),
                    _step(row[j - 1]),
                )
            )
        best.append(row)
    pairs = []
    i, j = len(words), len(wanted)
    while i and j:
        if best[i][j] == _step(best[i - 1][j - 1], words[i - 1] == wanted[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif best[i][j] == _step(best[i - 1][j]):
            i -= 1
        else:
            j -= 1
    return pairs[::-1]


def _step(cell: tuple[int, int], equal: bool = False) -> tuple[int, int]:
    return (cell[0], cell[1] - 1) if equal else (cell[0] + 1, cell[1])


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
