"""Metrics that need the text that was corrected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins import UserError
from lev_plugins.metrics import CORRECTION_METRICS, METRICS, make_correction_metric
from lev_plugins.metrics.corpus import add_up
from lev_plugins.metrics.correction import CorrectionMetric

NAMES = ("correction_rate", "words_broken", "edit_precision", "edit_recall", "edit_f05")
TEXT = st.lists(st.sampled_from("the cat sat on mat".split()), max_size=5).map(" ".join)
LINES = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=6)
# (source, output, reference): two words corrected, one left, one miscorrected
EXAMPLE = [
    ("tbe old house", "the old horse", "the old house"),
    ("by tne sea", "by the sea", "by the sea"),
    ("a wrod", "a wrod", "a word"),
]


def totals(metric: CorrectionMetric, lines: list[tuple[str, str, str]]) -> list[float]:
    return add_up(metric, (metric.statistics(*line) for line in lines))


def scores(lines: list[tuple[str, str, str]]) -> dict[str, float]:
    metrics = map(make_correction_metric, NAMES)
    return {metric.name: metric.score(totals(metric, lines)) for metric in metrics}


def test_the_names_are_those_promised_and_none_is_a_metric_without_a_source():
    assert tuple(CORRECTION_METRICS) == NAMES
    assert not CORRECTION_METRICS.keys() & METRICS.keys()


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
    counts = totals(make_correction_metric("correction_rate"), lines)
    assert found["correction_rate"] == (100 if counts[0] > counts[1] else 0)


@given(LINES, st.integers(0, 6))
def test_sums_over_any_split_are_the_sums_of_the_whole(lines, cut):
    for name in NAMES:
        metric = make_correction_metric(name)
        parts = (totals(metric, lines[:cut]), totals(metric, lines[cut:]))
        assert [sum(column) for column in zip(*parts)] == totals(metric, lines)
        assert len(metric.statistics("a", "b", "c")) == metric.size


@pytest.mark.parametrize("name", NAMES)
def test_where_nothing_was_counted_the_score_is_nought(name):
    metric = make_correction_metric(name)
    assert metric.name == name and metric.score([0.0] * metric.size) == 0
    assert metric.higher_is_better == (name != "words_broken")


@pytest.mark.parametrize("name", NAMES)
def test_signatures_name_case_tokens_and_what_counted(name):
    fields = dict(
        part.split(":", 1) for part in make_correction_metric(name).signature().split("|")
    )
    assert fields["nrefs"] == "1" and fields["case"] == "mixed" and fields["tok"] == "whitespace"
    assert fields["library"] == "lev_plugins"


def test_metrics_of_one_counting_are_counted_once():
    of_words, of_edits = (
        {make_correction_metric(name).counts for name in names} for names in (NAMES[:2], NAMES[2:])
    )
    assert len(of_words) == len(of_edits) == 1 and of_words != of_edits


def test_an_unknown_metric_names_the_known_ones():
    with pytest.raises(UserError, match="no correction metric 'f0.5'.*correction_rate, words_brok"):
        make_correction_metric("f0.5")
