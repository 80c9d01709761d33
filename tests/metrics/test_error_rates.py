"""Rates of words and characters against a reference."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.metrics.corpus import WORD_METRICS, add_up, make_metric

WORD = st.sampled_from("the cat Cat sat é 字".split())
TEXT = st.lists(WORD, max_size=6).map(" ".join)
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5)


def score(name: str, pairs: Sequence[tuple[str, str]]) -> float:
    metric = make_metric(name)
    return metric.score(add_up(metric, (metric.statistics(*pair) for pair in pairs)))


def distance(a: Sequence[str], b: Sequence[str]) -> int:
    """Levenshtein's distance by its definition."""
    if not a or not b:
        return len(a) + len(b)
    return min(
        distance(a[1:], b[1:]) + (a[0] != b[0]),
        distance(a[1:], b) + 1,
        distance(a, b[1:]) + 1,
    )


SHORT = st.lists(st.sampled_from("abé"), max_size=4)


@given(st.lists(st.tuples(SHORT, SHORT), min_size=1, max_size=3))
def test_error_rates_are_all_operations_over_the_length_of_all_references(pairs):
    texts = {"wer": [(" ".join(a), " ".join(b)) for a, b in pairs]}
    texts["cer"] = [("".join(a), "".join(b)) for a, b in pairs]
    length = sum(len(b) for _, b in pairs)
    expected = 100 * sum(distance(*pair) for pair in pairs) / length if length else 0
    assert {name: score(name, given) for name, given in texts.items()} == {
        "wer": pytest.approx(expected),
        "cer": pytest.approx(expected),
    }


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        # word accuracy, WRR, WER, CER
        ("the cat sat", "the cat sat", (100, 100, 0, 0)),
        ("the cad sat", "the cat sat", (200 / 3, 200 / 3, 100 / 3, 100 / 11)),
        ("the big cat sat", "the cat sat", (100, 200 / 3, 100 / 3, 400 / 11)),
        ("the sat", "the cat sat", (200 / 3, 200 / 3, 100 / 3, 400 / 11)),
        ("The cat", "the cat", (50, 50, 50, 100 / 7)),
        ("cat the", "the cat", (50, 0, 100, 600 / 7)),
        ("a b c d", "x", (0, -300, 400, 700)),
        ("", "a b", (0, 0, 100, 100)),
        ("  a  b ", "a b", (100, 100, 0, 100 / 3)),
    ],
)
def test_scores_by_hand(output, reference, expected):
    found = [score(name, [(output, reference)]) for name in WORD_METRICS]
    assert found == [pytest.approx(one, abs=1e-6) for one in expected]


@given(PAIRS)
def test_wrr_is_what_wer_leaves_and_the_accuracy_forgives_words_too_many(pairs):
    wer, wrr, accuracy = (score(name, pairs) for name in ("wer", "wrr", "word_accuracy"))
    if any(reference for _, reference in pairs):
        assert wrr == pytest.approx(100 - wer)
        assert wrr <= accuracy + 1e-9 and 0 <= accuracy <= 100
    else:
        assert wrr == wer == accuracy == 0


def test_rates_are_of_the_corpus_and_not_means_of_lines():
    pairs = [("a", "b"), ("c d e", "c d e")]
    assert score("wer", pairs) == 25 and score("word_accuracy", pairs) == 75


def test_what_is_said_of_jiwer_holds():
    jiwer = pytest.importorskip("jiwer")
    outputs, references = ["the  cat", " a dog barks ", ""], ["the cat sat", "a dog", "yes"]
    pairs = list(zip(outputs, references))
    assert score("wer", pairs) == pytest.approx(100 * jiwer.wer(references, outputs))
    assert score("cer", pairs) == pytest.approx(100 * jiwer.cer(references, outputs))
