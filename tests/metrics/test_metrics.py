"""Metrics: sums of sentence statistics give the libraries' corpus scores."""

import logging
from collections.abc import Sequence

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.metrics.corpus import (
    METRICS,
    WORD_METRICS,
    add_up,
    bleu,
    make_metric,
    ter,
)

Pairs = Sequence[tuple[str, str]]
# few words, so that sentences share some; any character; nothing at all
WORDS = st.lists(st.sampled_from("the cat sat on mat . , The it's 3.5 &quot; 猫 猫が".split()))
TEXT = st.one_of(WORDS.map(" ".join), st.text(max_size=12), st.just(""))
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6)
SACREBLEU = {
    "bleu": lambda outputs, refs: sacrebleu.corpus_bleu(outputs, [refs], force=True),
    "ter": lambda outputs, refs: sacrebleu.corpus_ter(outputs, [refs]),
    "ter_normalized": lambda outputs, refs: sacrebleu.corpus_ter(
        outputs, [refs], normalized=True, case_sensitive=True
    ),
    "chrf": lambda outputs, refs: sacrebleu.corpus_chrf(outputs, [refs]),
}


def totals(name: str, pairs: Pairs) -> list[float]:
    metric = make_metric(name)
    return add_up(metric, (metric.statistics(*pair) for pair in pairs))


def score(name: str, pairs: Pairs) -> float:
    return make_metric(name).score(totals(name, pairs))


# all metrics --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METRICS)
def test_what_every_metric_promises(name):
    metric = make_metric(name)
    assert metric.name == name and metric.score([0.0] * metric.size) == 0
    good = ("the cat sat on the mat", "the cat sat on the mat")
    bad = ("a dog sat on the rug", "the cat sat on the mat")
    best, worse = score(name, [good]), score(name, [bad])
    assert best == pytest.approx(100 if metric.higher_is_better else 0, abs=1e-9)
    assert (worse < best) == metric.higher_is_better
    assert metric.higher_is_better == (name not in ("ter", "ter_normalized", "wer", "cer"))
    fields = dict(part.split(":", 1) for part in metric.signature().split("|"))
    assert fields["nrefs"] == "1" and {"case"} < fields.keys()
    if name in SACREBLEU:
        assert fields["version"] == sacrebleu.__version__
    else:
        assert fields["tok"] in ("none", "whitespace", "char")
        assert fields["library"] == "lev_plugins"


@given(pairs=PAIRS, cut=st.integers(0, 6), turn=st.booleans())
@settings(max_examples=25)
def test_parts_in_any_order_add_up_to_the_same_score(pairs, cut, turn):
    for name in METRICS:
        parts = [totals(name, part) for part in (pairs[:cut], pairs[cut:])]
        halves = [sum(column) for column in zip(*(reversed(parts) if turn else parts))]
        assert halves == totals(name, pairs)
        assert len(halves) == make_metric(name).size == len(make_metric(name).statistics("a", "b"))


@pytest.mark.parametrize(
    ("ref", "out", "right"),
    [("a b", "a b", True), ("a b", "a b ", True), ("a b", "a  b", False), ("a", "A", False)],
)
def test_accuracy_forgives_spaces_at_the_ends_and_nothing_else(ref, out, right):
    assert score("accuracy", [(out, ref)]) == 100 * right


def test_an_unknown_metric_names_the_known_ones():
    with refuses("'rouge-2'", *METRICS):
        make_metric("rouge-2")


# sacrebleu's --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SACREBLEU)
@given(pairs=PAIRS)
def test_sums_give_sacrebleus_corpus_score_exactly(name, pairs):
    seen = [("the cat sat on the mat .", "The cat sat on a mat ."), ("it's 3.5", "it's 3 , 5")]
    for some in (pairs, seen):
        expected = SACREBLEU[name](*(list(side) for side in zip(*some))).score
        assert score(name, some) == expected
    assert 0 < expected < 100


def test_settings_show_in_the_signature_and_tokenised_lines_are_no_reason_to_warn(caplog):
    assert "case:mixed|tok:tercom|norm:yes" in make_metric("ter_normalized").signature()
    assert "case:lc" in ter().signature() and "norm:no" in ter().signature()
    assert "tok:none" in bleu("none").signature() and "tok:13a" in bleu().signature()
    with caplog.at_level(logging.WARNING):
        assert score("bleu", [("a b c d .", "a b c d .")] * 101) > 99
    assert not caplog.records


# words and characters -----------------------------------------------------------------------------


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
    words = [(" ".join(a), " ".join(b)) for a, b in pairs]
    letters = [("".join(a), "".join(b)) for a, b in pairs]
    length = sum(len(b) for _, b in pairs)
    expected = 100 * sum(distance(*pair) for pair in pairs) / length if length else 0
    assert score("wer", words) == score("cer", letters) == pytest.approx(expected)
    # what WER leaves, and what forgives words too many
    wrr, accuracy = score("wrr", words), score("word_accuracy", words)
    assert wrr == pytest.approx(100 - expected if length else 0)
    assert wrr <= accuracy + 1e-9 and 0 <= accuracy <= 100


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        # word accuracy, WRR, WER, CER
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


def test_rates_are_of_the_corpus_and_those_of_jiwer():
    pairs = [("a", "b"), ("c d e", "c d e")]
    assert score("wer", pairs) == 25 and score("word_accuracy", pairs) == 75
    jiwer = pytest.importorskip("jiwer")
    outputs, references = ["the  cat", " a dog barks ", ""], ["the cat sat", "a dog", "yes"]
    pairs = list(zip(outputs, references))
    assert score("wer", pairs) == pytest.approx(100 * jiwer.wer(references, outputs))
    assert score("cer", pairs) == pytest.approx(100 * jiwer.cer(references, outputs))
