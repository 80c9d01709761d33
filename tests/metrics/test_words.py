"""Words right, corrected and miscorrected: against every alignment there is, one by one."""

import random
from collections.abc import Iterator
from itertools import combinations

import editdistance
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lev_plugins.metrics import CorrectionCounts, correction_counts
from lev_plugins.metrics.words import aligned, is_char_tokenized, line_counts, right_words

Words = list[str]
Pairs = tuple[tuple[int, int], ...]

FEW = st.lists(st.sampled_from("abc"), max_size=4)


def alignments(a: Words, b: Words) -> Iterator[Pairs]:
    """Every alignment of two texts: as many places of one as of the other, in order."""
    for size in range(min(len(a), len(b)) + 1):
        for places in combinations(range(len(a)), size):
            for others in combinations(range(len(b)), size):
                yield tuple(zip(places, others))


def worth(pairs: Pairs, a: Words, b: Words) -> tuple[int, int]:
    """Errors and equal words; less is better."""
    equal = sum(a[i] == b[j] for i, j in pairs)
    return len(a) + len(b) - len(pairs) - equal, -equal


def rights(words: Words, reference: Words) -> set[frozenset[int]]:
    """Words of the reference that are right, by each of the best alignments."""
    every = [(worth(pairs, words, reference), pairs) for pairs in alignments(words, reference)]
    best = min(found for found, _ in every)
    return {
        frozenset(j for i, j in pairs if words[i] == reference[j])
        for found, pairs in every
        if found == best
    }


@given(FEW, FEW)
@example(list("abcxy"), list("xydef"))  # five errors and no equal word, or six and two
def test_an_alignment_has_the_fewest_errors_and_of_these_the_most_equal_words(a, b):
    pairs = aligned(a, b)
    assert all(i < k and j < m for (i, j), (k, m) in zip(pairs, pairs[1:]))
    assert worth(tuple(pairs), a, b) == min(worth(one, a, b) for one in alignments(a, b))
    assert worth(tuple(pairs), a, b)[0] == editdistance.eval(a, b)
    assert right_words(a, b) in rights(a, b)


@given(FEW, FEW, FEW)
def test_a_word_is_corrected_or_miscorrected_by_one_alignment_of_either_side(before, after, ref):
    found = [
        CorrectionCounts(len(ref), len(first), len(second - first), len(first - second))
        for first in rights(before, ref)
        for second in rights(after, ref)
    ]
    assert line_counts(" ".join(before), " ".join(after), " ".join(ref)) in found


def test_long_lines_are_counted_as_short_ones_are():
    """Against the sum of short lines that no alignment can mix: their words are all different."""
    rng = random.Random(1)
    parts = []
    for part in range(30):
        words = [f"{part}{letter}" for letter in "abc"]
        parts.append([" ".join(rng.choices(words, k=rng.randint(3, 5))) for _ in range(3)])
    fences = [f"fence{part} " * 8 for part in range(30)]
    sides = list(zip(*parts))
    joined = (" ".join(x for pair in zip(side, fences) for x in pair) for side in sides)
    whole = line_counts(*joined)
    apart = correction_counts(*map(list, sides))
    assert (whole.corrected, whole.miscorrected) == (apart.corrected, apart.miscorrected)
    assert apart.corrected > 10 < apart.miscorrected and whole.words == apart.words + 8 * 30


def test_counts_by_hand():
    references = ["the old house", "by the sea", "word", "a lot of it", ""]
    sources = ["tbe old house", "by tne sea", "word", "alot of it", "dirt"]
    outputs = ["the old horse", "by the big sea", "word", "a lot of it", ""]
    counts = correction_counts(sources, outputs, references)
    # corrected: the, the, a, lot; miscorrected: house
    assert counts == CorrectionCounts(words=11, right_before=7, corrected=4, miscorrected=1)
    assert (counts.right, counts.wrong_before) == (10, 4)
    assert counts.word_accuracy == pytest.approx(1000 / 11)
    assert counts.correction_rate == 100 and counts.miscorrection_rate == pytest.approx(100 / 7)
    assert CorrectionCounts().correction_rate == CorrectionCounts().miscorrection_rate == 0
    for sides in ((sources, outputs, references[1:]), (sources[1:], outputs, references)):
        with pytest.raises(ValueError):
            correction_counts(*sides)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["n e w", "o n e"], True),
        (["n e w", "one"], False),
        (["n e w", "a", "", ""], False),
        (["n e w", "", ""], True),
        (["new one"], False),
        ([], False),
        ([" ", ""], False),
    ],
)
def test_read_as_characters_text_is_told_from_words(lines, said):
    assert is_char_tokenized(lines) == said
