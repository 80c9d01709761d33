"""Words right, corrected and miscorrected, and edits of words."""

from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tables import cases

from lev_runtime.text.words import (
    WordEdit,
    aligned,
    f_half,
    precision,
    recall,
    right_words,
    word_edits,
)

ABC = st.lists(st.sampled_from("abc"), max_size=4)


def worth(pairs, a, b):
    """Errors and equal words of an alignment; less is better."""
    equal = sum(a[i] == b[j] for i, j in pairs)
    return len(a) + len(b) - len(pairs) - equal, -equal


def alignments(a, b):
    """As many places of one as of the other, in order."""
    for size in range(min(len(a), len(b)) + 1):
        for places in combinations(range(len(a)), size):
            for others in combinations(range(len(b)), size):
                yield list(zip(places, others))


@given(ABC, ABC)
@example(list("ab"), list("bc"))  # not at the same place
@example(list("aa"), list("b"))
@example(list("abcxy"), list("xydef"))  # five errors and no equal word, or six and two
def test_an_alignment_has_the_fewest_errors_and_of_these_the_most_equal_words(a, b):
    pairs = aligned(a, b)
    assert all(i < k and j < m for (i, j), (k, m) in zip(pairs, pairs[1:]))
    assert worth(pairs, a, b) == min(worth(others, a, b) for others in alignments(a, b))
    assert right_words(a, b) == {j for i, j in pairs if a[i] == b[j]}


# edits of words -----------------------------------------------------------------------------------

FEW = st.lists(st.sampled_from("abcd"), max_size=7)


@given(FEW, FEW)
def test_edits_make_the_target_and_touch_nothing_twice(source, target):
    edits, rewritten = word_edits(source, target), list(source)
    for edit in reversed(edits):
        rewritten[edit.start : edit.end] = edit.words
    assert rewritten == target
    assert all(edit.end <= other.start for edit, other in zip(edits, edits[1:]))
    assert len(set(edits)) == len(edits)
    assert all(tuple(source[edit.start : edit.end]) != edit.words for edit in edits)


@pytest.mark.parametrize("source, target, edits", cases("lev_runtime/text/cases.tsv", "word edits"))
def test_a_span_between_equal_words_is_an_edit_and_word_for_word_ones_are_split(
    source, target, edits
):
    expected = [WordEdit(start, end, tuple(words.split())) for start, end, words in edits]
    assert word_edits(source.split(), target.split()) == expected


@pytest.mark.parametrize("counts, worth", [((0, 4, 4), 0), ((0, 0, 0), 100)])
def test_rates_of_nothing_right(counts, worth):
    assert [rate(counts) for rate in (precision, recall, f_half)] == [worth] * 3
