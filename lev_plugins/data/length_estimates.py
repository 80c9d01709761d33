"""How many tokens each line of a large text has, without cutting all of it into subwords.

Subwords seldom reach across spaces: a line has as many as its words have, each by itself. The words
of some lines are cut; others are taken to have as many as rare words of their length. Texts are
read as bytes, by the block; a word is what stands between bytes up to 32, and its first and last
eight bytes tell it from other words.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..io.line_index import line_ends
from .text_lines import TextLines

#: lines whose words are cut
WORD_LINES = 100_000
#: of a sample, whose words are all known: weights are fitted to them
MIN_LINES = 20
#: share of the lines that is not longer than estimated
COVERAGE = 0.999
_SPACE, _WIDE = 32, 8  # bytes of a machine word
_TABLE_BITS = 22
_MOST = np.iinfo(np.uint8).max
_FIRST, _LAST, _LENGTH, _ALL = (
    np.uint64(odd)
    for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xFF51AFD7ED558CCD)
)


class Words(NamedTuple):
    """The words of a block: where each begins, its bytes, and its place in tables."""

    starts: np.ndarray
    bytes: np.ndarray
    places: np.ndarray


def words_of(block: bytes) -> Words:
    """Finds the words of a block."""
    spaces = np.frombuffer(block, np.uint8) <= _SPACE
    blank = np.concatenate([[True], spaces, [True]])
    edges = np.flatnonzero(blank[:-1] != blank[1:])
    starts, ends = edges[::2], edges[1::2]
    sizes = ends - starts
    around = bytes(_WIDE)
    padded = around + block + around
    eights = np.ndarray((len(padded) - _WIDE + 1,), "<u8", padded, strides=(1,))
    unused = 8 * (_WIDE - np.minimum(sizes, _WIDE))  # bits
    unused = unused.astype(np.uint64)
    first = (eights[starts + _WIDE] << unused) >> unused
    last = eights[ends] >> unused
    mixed = (first * _FIRST) ^ (last * _LAST) ^ (sizes.astype(np.uint64) * _LENGTH)
    mixed ^= mixed >> np.uint64(32)
    places = (mixed * _ALL) >> np.uint64(64 - _TABLE_BITS)
    return Words(starts, sizes, places)


class WordTokens(NamedTuple):
    """How many tokens words have.

    table: by a word's place; 0 for words that are not known. per_byte, least: of those.
    """

    table: np.ndarray
    per_byte: float
    least: float

    @classmethod
    def of(cls, lines: Sequence[str], count: Callable[[str], int]) -> "WordTokens":
        """Counts the tokens of the words of ``lines``."""
        text = " ".join(lines)
        seen = Counter(text.encode().split())
        known = [word.decode("utf-8", "replace") for word in seen]
        tokens = np.array([count(word) for word in known], dtype=np.float64)
        table = np.zeros(1 << _TABLE_BITS, np.uint8)
        places = words_of(b" ".join(seen)).places
        table[places] = np.minimum(tokens, _MOST)
        rare = np.array([number == 1 for number in seen.values()])
        if rare.sum() < 2:
            rare = np.ones_like(rare)
        sizes = np.array([len(word) for word in seen], dtype=np.float64)
        columns = np.stack([sizes, np.ones_like(sizes)], 1)
        (per_byte, least), *_ = np.linalg.lstsq(columns[rare], tokens[rare], rcond=None)
        return cls(table, float(per_byte), float(least))

    def of_lines(self, block: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Of every line of a block: tokens of its words, their number, and 1 (lines × 3); and how
        many of the tokens are of words that are not known."""
        words = words_of(block)
        tokens = self.table[words.places].astype(np.float64)
        unknown = np.flatnonzero(tokens == 0)
        guesses = np.zeros_like(tokens)
        guess = self.per_byte * words.bytes[unknown] + self.least
        guesses[unknown] = np.maximum(guess, 0)
        ends = line_ends(np.frombuffer(block, np.uint8))
        behind = np.searchsorted(words.starts, ends)
        sums = []
        for counts in (tokens, guesses):
            totals = np.concatenate([[0.0], counts.cumsum()])
            sums.append(np.diff(totals[behind], prepend=0))
        known, guessed = sums
        number = np.diff(behind, prepend=0)
        columns = np.stack([known + guessed, number, np.ones_like(known)], 1)
        return columns, guessed


class Fit(NamedTuple):
    """Lengths of lines by their words: a linear fit, and how far it may be exceeded.

    spread: deviation of lines whose words are known, by the root of the length. margin: so many
    deviations keep the share :data:`COVERAGE` of the lines below.
    """

    words: WordTokens
    weights: np.ndarray
    spread: float
    margin: float

    @classmethod
    def of(cls, words: WordTokens, block: bytes, lengths: np.ndarray) -> "Fit":
        """Fits the lengths of a block's lines."""
        columns, guessed = words.of_lines(block)
        sure = guessed == 0
        clear = sure if sure.sum() >= MIN_LINES else np.ones_like(sure)
        weights, *_ = np.linalg.lstsq(columns[clear], lengths[clear], rcond=None)
        fitted = np.maximum(columns @ weights, 1.0)
        errors = lengths - fitted
        spread = 1.0
        if sure.any():
            variance = np.mean(errors[sure] ** 2 / fitted[sure])
            spread = float(variance) ** 0.5
        deviations = np.sqrt(guessed + spread**2 * fitted + 1e-9)
        margin = float(np.quantile(errors / deviations, COVERAGE))
        return cls(words, weights, spread, max(margin, 0.0))

    def __call__(self, block: bytes) -> np.ndarray:
        """Tokens of every line of a block, at most, whole numbers."""
        columns, guessed = self.words.of_lines(block)
        fitted = np.maximum(columns @ self.weights, 1.0)
        deviations = np.sqrt(guessed + self.spread**2 * fitted)
        return np.ceil(fitted + self.margin * deviations - 1e-3)


def estimated_lengths(
    text: TextLines, sample: np.ndarray, lengths: np.ndarray, count: Callable[[str], int]
) -> np.ndarray:
    """Tokens of every line with </s>, int32; exact where each character is one, or each word.

    A little too long rather than too short: the longest line of a batch is seldom longer than
    planned.

    Args:
        sample: numbers of lines. lengths: their tokens, with </s>.
        count: tokens of a word.
    """
    characters = text.places["characters"]
    if np.array_equal(characters[sample] + 1, lengths):
        return np.asarray(characters + np.int32(1))
    # not those of the sample, which tells how often words are not known
    others = np.linspace(0, len(text) - 1, WORD_LINES).astype(np.int64)
    others = np.setdiff1d(others, sample)
    words = WordTokens.of([text[int(number)] for number in others], count)
    measured = "\n".join(text[int(number)] for number in sample).encode()
    fit = Fit.of(words, measured, lengths)
    sizes = np.empty(len(text), np.int32)
    end = 0
    for block in text.blocks():
        estimates = fit(block)
        start, end = end, end + len(estimates)
        sizes[start:end] = estimates
    return sizes
