"""Two systems compared sentence by sentence."""

import itertools
import math
import sys

import pytest
import sacrebleu.significance
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.errors import UserError
from lev_plugins.metrics.significance import compared, paired, sentence_metric, welch

REFERENCES = ["the cat sat", "a dog", "one two three four", "", "yes", "the end of it all"]
GOOD = ["the cat sat", "a dog", "one two three for", "", "yes", "the end of it all"]
BAD = ["the rat sat", "dog", "one", "", "no", "the end it"]


def moments(values: list[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / (len(values) - 1)


SCORES = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=3, max_size=12)


@given(SCORES)
def test_t_and_its_degrees_of_freedom_are_welchs(pairs):
    a, b = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    found = welch(a, b, higher_is_better=True)
    (mean_a, var_a), (mean_b, var_b), n = moments(a), moments(b), len(pairs)
    if not var_a and not var_b:
        assert found["t"] is found["p"] is None
        return
    error = var_a / n + var_b / n
    assert found["t"] == pytest.approx((mean_a - mean_b) / math.sqrt(error))
    freedom = error**2 / (((var_a / n) ** 2 + (var_b / n) ** 2) / (n - 1))
    assert found["df"] == pytest.approx(freedom)
    half = found["p"] / 2
    assert found["p_one_sided"] == pytest.approx(half if found["t"] > 0 else 1 - half)
    other = welch(a, b, higher_is_better=False)
    assert other["p_one_sided"] == pytest.approx(1 - found["p_one_sided"])


def test_p_is_that_of_a_published_example():
    """Two samples of equal size; 2.2 % by tables of Student's distribution at 8 degrees."""
    found = welch([1.0, 2.0, 3.0, 4.0, 5.0], [4.0, 5.0, 6.0, 7.0, 8.0], True)
    assert found["t"] == pytest.approx(-3) and found["df"] == pytest.approx(8)
    assert found["p"] == pytest.approx(0.01707, abs=1e-5)


def test_one_sentence_has_no_test():
    assert set(welch([1.0], [2.0], True).values()) == {None}


@pytest.mark.parametrize("name", ["wrr", "bleu", "wer"])
def test_the_paired_p_is_the_share_of_exchanges_that_differ_more(name):
    """By all 32 ways to exchange outputs, of which sacrebleu samples 10,000."""
    lines = [line for line in zip(GOOD, BAD, REFERENCES, strict=True) if line[2]]
    metric = sentence_metric(name)
    a, b = ([metric.statistics(line[side], line[2]) for line in lines] for side in (0, 1))

    def gap(exchanged):
        sides = zip(*(pair[::-1] if way else pair for pair, way in zip(zip(a, b), exchanged)))
        first, second = (metric.score([sum(column) for column in zip(*side)]) for side in sides)
        return abs(first - second)

    seen, ways = gap([False] * 5), itertools.product([False, True], repeat=5)
    exact = sum(gap(way) > seen + 1e-9 for way in ways) / 32
    assert paired(metric, a, b) == pytest.approx(exact, abs=0.02)
    assert paired(metric, a, b) == paired(metric, a, b)


def test_the_paired_test_keeps_numbers_of_sentences_that_differ_alone(monkeypatch):
    """sacrebleu keeps one for each trial and sentence: of 100,000 sentences 8 GB, twice."""
    asked = []
    itself = sacrebleu.significance.PairedTest

    def noting(systems, *args, n_samples):
        asked.append((len(systems[0][1]), n_samples))
        return itself(systems, *args, n_samples=n_samples)

    monkeypatch.setattr(sacrebleu.significance, "PairedTest", noting)
    metric = sentence_metric("wrr")
    right, wrong = (metric.statistics(text, "a dog") for text in ("a dog", "a cat"))
    same = [right] * 20_000
    p = paired(metric, [*same, right, right, wrong], [*same, wrong, wrong, right])
    assert asked == [(4, 10_000)]
    assert p == pytest.approx(2 / 8, abs=0.02), "three to nothing, where it is two to one"
    paired(metric, [right] * 6_000, [wrong] * 6_000)
    assert asked[1] == (6_001, 8_331)


def test_equal_outputs_or_one_sentence_have_no_paired_p():
    metric = sentence_metric("wrr")
    some = [metric.statistics(text, "a dog") for text in ("a dog", "dog")]
    assert paired(metric, some, some) is paired(metric, some[:1], some[1:]) is None


def test_a_right_sentence_has_full_bleu_however_short():
    metric = sentence_metric("bleu")
    for text in ("yes", "a dog", "one two three four five"):
        assert metric.score(metric.statistics(text, text)) == pytest.approx(100)


def test_errors_are_better_when_lower():
    lines = [line for line in zip(GOOD, BAD, REFERENCES, strict=True) if line[2]]
    errors, right = (compared(sentence_metric(name), lines) for name in ("wer", "wrr"))
    assert errors["mean_a"] < errors["mean_b"] and right["mean_a"] > right["mean_b"]
    assert errors["better"] == right["better"] == [5, 0]
    assert errors["p_one_sided"] == pytest.approx(right["p_one_sided"])
    assert right["p_one_sided"] < 0.05


def test_without_scipy_there_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(UserError, match=r"pip install 'lev_plugins\[report\]'"):
        welch([1.0, 2.0], [2.0, 4.0], True)
