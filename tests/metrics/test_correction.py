"""Metrics that need the text that was corrected, and the edits of words that they count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.metrics import CORRECTION_METRICS, METRICS, Metric
from lev_plugins.metrics.corpus import add_up
from lev_plugins.metrics.word_edits import (
    EditMatches,
    WordEdit,
    edit_matches,
    f_half,
    precision,
    recall,
    word_edits,
)

NAMES = ("correction_rate", "words_broken", "edit_precision", "edit_recall", "edit_f05")
TEXT = st.lists(st.sampled_from("the cat sat on mat".split()), max_size=5).map(" ".join)
LINES = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=6)
# (source, output, reference): two words corrected, one left, one miscorrected
EXAMPLE = [
    ("tbe old house", "the old horse", "the old house"),
    ("by tne sea", "by the sea", "by the sea"),
    ("a wrod", "a wrod", "a word"),
]


def totals(metric: Metric, lines: list[tuple[str, str, str]]) -> list[float]:
    return add_up(metric, (metric.statistics(*line) for line in lines))


def scores(lines: list[tuple[str, str, str]]) -> dict[str, float]:
    return {
        name: metric.score(totals(metric, lines)) for name, metric in CORRECTION_METRICS.items()
    }


def test_scores_by_hand():
    p, r = 2 / 3, 2 / 3
    assert scores(EXAMPLE) == {
        "correction_rate": pytest.approx(200 / 3),
        "words_broken": pytest.approx(100 / 5),
        "edit_precision": pytest.approx(100 * p),
        "edit_recall": pytest.approx(100 * r),
        "edit_f05": pytest.approx(100 * 1.25 * p * r / (0.25 * p + r)),
    }


@given(LINES)
def test_the_no_edit_baseline_is_worth_nothing_and_miscorrects_nothing(lines):
    found = scores([(source, source, reference) for source, _, reference in lines])
    needed = any(source.split() != reference.split() for source, _, reference in lines)
    assert found["words_broken"] == found["correction_rate"] == 0
    assert found["edit_precision"] == 100, "no edit is wrong"
    assert found["edit_recall"] == found["edit_f05"] == (0 if needed else 100)


@given(LINES)
def test_the_reference_is_worth_all(lines):
    found = scores([(source, reference, reference) for source, _, reference in lines])
    assert found["words_broken"] == 0
    assert found["edit_precision"] == found["edit_recall"] == found["edit_f05"] == 100
    counts = totals(CORRECTION_METRICS["correction_rate"], lines)
    assert found["correction_rate"] == (100 if counts[0] > counts[1] else 0)


def test_what_every_metric_promises():
    assert tuple(CORRECTION_METRICS) == NAMES and not CORRECTION_METRICS.keys() & METRICS.keys()
    for name in NAMES:
        metric = CORRECTION_METRICS[name]
        assert metric.name == name and metric.score([0.0] * metric.size) == 0
        assert metric.higher_is_better == (name != "words_broken")
        fields = dict(part.split(":", 1) for part in metric.signature().split("|"))
        assert fields["tok"] == "whitespace" and fields["library"] == "lev_plugins"


# edits of words -----------------------------------------------------------------------------------

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
    assert word_edits(source, source) == []


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


def test_rates_by_hand_and_where_nothing_is_divided():
    assert precision((3, 1, 2)) == 75 and recall((3, 1, 2)) == 60
    # (1 + 0.25) · 0.75 · 0.6 / (0.25 · 0.75 + 0.6)
    assert f_half((3, 1, 2)) == pytest.approx(100 * 1.25 * 0.45 / 0.7875)
    assert [rate((0, 0, 4)) for rate in (precision, recall, f_half)] == [100, 0, 0]
    assert [rate((0, 4, 0)) for rate in (precision, recall, f_half)] == [0, 100, 0]
    assert [rate((0, 4, 4)) for rate in (precision, recall, f_half)] == [0, 0, 0]
    assert [rate((0, 0, 0)) for rate in (precision, recall, f_half)] == [100, 100, 100]
