"""Edits of words: what was made against what was needed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.metrics import word_edits
from lev_plugins.metrics.word_edits import (
    EditMatches,
    WordEdit,
    edit_matches,
    f_half,
    matched,
    precision,
    recall,
)

FEW = st.lists(st.sampled_from("abcd"), max_size=7)


def applied(edits: list[WordEdit], source: list[str]) -> list[str]:
    """A source with its edits, from the last to the first."""
    made = list(source)
    for edit in reversed(edits):
        made[edit.start : edit.end] = edit.words
    return made


@given(FEW, FEW)
def test_edits_make_the_target_and_touch_nothing_twice(source, target):
    edits = word_edits(source, target)
    assert applied(edits, source) == target
    assert all(one.end <= other.start for one, other in zip(edits, edits[1:]))
    assert len(set(edits)) == len(edits)
    assert all(tuple(source[one.start : one.end]) != one.words for one in edits)


@given(FEW)
def test_equal_texts_have_no_edits(words):
    assert word_edits(words, words) == []


@pytest.mark.parametrize(
    ("source", "target", "edits"),
    [
        ("tbe old hovse", "the old house", [(0, 1, "the"), (2, 3, "house")]),
        ("tbe hovse", "the house", [(0, 1, "the"), (1, 2, "house")]),
        ("alot of it", "a lot of it", [(0, 1, "a lot")]),
        ("it is is so", "it is so", [(1, 2, "")]),
        ("it so", "it is just so", [(1, 1, "is just")]),
        ("some thing", "something", [(0, 2, "something")]),
        ("", "a b", [(0, 0, "a b")]),
        ("a b", "", [(0, 2, "")]),
    ],
)
def test_a_span_between_equal_words_is_an_edit_and_word_for_word_ones_are_split(
    source, target, edits
):
    expected = [WordEdit(start, end, tuple(words.split())) for start, end, words in edits]
    assert word_edits(source.split(), target.split()) == expected


def test_an_edit_is_right_only_in_its_place_and_with_its_words():
    source, reference = "tbe old hovse by tne sea", "the old house by the sea"
    for output, matches in (
        (source, (0, 0, 3)),
        (reference, (3, 0, 0)),
        ("the old horse by tne sea", (1, 1, 2)),
        ("the odd house by tne see", (2, 2, 1)),
        ("tbe old hovse by the the sea", (0, 1, 3)),
    ):
        assert edit_matches(source, output, reference) == EditMatches(*matches), output


def test_what_is_made_twice_is_right_once():
    assert matched("aab", "abb") == EditMatches(right=2, wrong=1, missing=1)


def test_rates_by_hand_and_where_nothing_is_divided():
    assert precision((3, 1, 2)) == 75 and recall((3, 1, 2)) == 60
    # (1 + 0.25) · 0.75 · 0.6 / (0.25 · 0.75 + 0.6)
    assert f_half((3, 1, 2)) == pytest.approx(100 * 1.25 * 0.45 / 0.7875)
    assert [rate((0, 0, 4)) for rate in (precision, recall, f_half)] == [100, 0, 0]
    assert [rate((0, 4, 0)) for rate in (precision, recall, f_half)] == [0, 100, 0]
    assert [rate((0, 4, 4)) for rate in (precision, recall, f_half)] == [0, 0, 0]
    assert [rate((0, 0, 0)) for rate in (precision, recall, f_half)] == [100, 100, 100]


@given(st.tuples(*[st.integers(0, 9)] * 3))
def test_f_half_lies_between_and_nearer_to_precision(matches):
    p, r, f = precision(matches), recall(matches), f_half(matches)
    assert min(p, r) - 1e-9 <= f <= max(p, r) + 1e-9
    assert f == pytest.approx(0 if not p * r else 1 / (0.8 / p + 0.2 / r))
