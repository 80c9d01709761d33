"""Metrics: sums of sentence statistics give the libraries' corpus scores."""

import logging
import random
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from lev_plugins import UserError
from lev_plugins.metrics.corpus import (
    METRICS,
    Metric,
    UnicodeWords,
    add_up,
    bleu,
    make_metric,
    ter,
)

# few words, so that sentences share some; any character; nothing at all
WORDS = st.lists(st.sampled_from("the cat sat on mat . , The it's 3.5 &quot; 猫 猫が".split()))
TEXT = st.one_of(WORDS.map(" ".join), st.text(max_size=12), st.just(""))
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6)
ENGLISH = st.text("abcxyzABC0123456789 .,;:'-_()\t!?", max_size=40)
SACREBLEU = {
    "bleu": lambda outputs, refs: sacrebleu.corpus_bleu(outputs, [refs], force=True),
    "ter": lambda outputs, refs: sacrebleu.corpus_ter(outputs, [refs]),
    "ter_normalized": lambda outputs, refs: sacrebleu.corpus_ter(
        outputs, [refs], normalized=True, case_sensitive=True
    ),
    "chrf": lambda outputs, refs: sacrebleu.corpus_chrf(outputs, [refs]),
}


def totals(metric: Metric, pairs: Sequence[tuple[str, str]]) -> list[float]:
    return add_up(metric, (metric.statistics(*pair) for pair in pairs))


@pytest.mark.parametrize("name", SACREBLEU)
@given(pairs=PAIRS)
def test_sums_give_sacrebleus_corpus_score_exactly(name, pairs):
    metric = make_metric(name)
    outputs, references = (list(side) for side in zip(*pairs))
    expected = SACREBLEU[name](outputs, references).score
    assert metric.score(totals(metric, pairs)) == expected


def test_the_sentences_that_hypothesis_draws_are_not_all_nought():
    pairs = [("the cat sat on the mat .", "The cat sat on a mat ."), ("it's 3.5", "it's 3 , 5")]
    for name, count in SACREBLEU.items():
        score = make_metric(name).score(totals(make_metric(name), pairs))
        assert 0 < score < 100
        assert score == count(*(list(side) for side in zip(*pairs))).score


@given(pairs=PAIRS, cut=st.integers(0, 6), turn=st.booleans())
@settings(max_examples=40)
def test_parts_in_any_order_add_up_to_the_same_score(pairs, cut, turn):
    for name in METRICS:
        metric = make_metric(name)
        parts = [totals(metric, part) for part in (pairs[:cut], pairs[cut:])]
        halves = [sum(column) for column in zip(*(reversed(parts) if turn else parts))]
        assert halves == totals(metric, pairs)
        assert len(halves) == metric.size == len(metric.statistics("a", "b"))


def test_fractions_add_up_to_the_same_sum_in_any_order():
    rng = random.Random(1)
    pairs = [
        tuple(" ".join(rng.choices("abcd", k=rng.randint(1, 9))) for _ in "xy") for _ in range(200)
    ]
    metric = make_metric("rouge1")
    sums = {tuple(totals(metric, rng.sample(pairs, k=len(pairs)))) for _ in range(5)}
    assert len(sums) == 1


@pytest.mark.parametrize("name", METRICS)
def test_where_nothing_was_counted_the_score_is_nought(name):
    metric = make_metric(name)
    assert metric.name == name
    assert metric.score([0.0] * metric.size) == 0


@pytest.mark.parametrize("name", METRICS)
def test_a_perfect_output_has_the_best_score_and_a_worse_one_is_worse(name):
    metric = make_metric(name)
    good = ("the cat sat on the mat", "the cat sat on the mat")
    bad = ("a dog sat on the rug", "the cat sat on the mat")
    best, worse = (metric.score(totals(metric, [pair])) for pair in (good, bad))
    assert best == pytest.approx(100 if metric.higher_is_better else 0, abs=1e-9)
    assert (worse < best) == metric.higher_is_better
    assert metric.higher_is_better == (name not in ("ter", "ter_normalized", "wer", "cer"))


@given(pairs=st.lists(st.tuples(ENGLISH, ENGLISH), min_size=1, max_size=5))
@settings(max_examples=40)
def test_for_english_rouge_is_the_librarys_mean_without_stemming(pairs):
    library = RougeScorer(["rouge1", "rouge2", "rougeL"])
    for name in ("rouge1", "rouge2", "rougeL"):
        metric = make_metric(name)
        scores = [library.score(target=ref, prediction=out)[name].fmeasure for out, ref in pairs]
        mean = 100 * sum(scores) / len(scores)
        assert metric.score(totals(metric, pairs)) == pytest.approx(mean, abs=1e-6)


def test_rouge_tells_hypothesis_from_reference_and_counts_overlap():
    # 2 of 3 words and 2 of 5: F1 = 2 · 2 / (3 + 5); one of 2 and one of 4 pairs; "a b" in order
    pair = ("a b x", "a b c d e")
    expected = {"rouge1": 100 * 4 / 8, "rouge2": 100 * 2 / 6, "rougeL": 100 * 4 / 8}
    for name, score in expected.items():
        assert make_metric(name).score(make_metric(name).statistics(*pair)) == pytest.approx(score)
    swapped = make_metric("rougeL").statistics("b a", "a b")
    assert make_metric("rougeL").score(swapped) == 50


@given(ENGLISH)
def test_english_words_are_the_librarys(text):
    from rouge_score.tokenize import tokenize

    assert UnicodeWords().tokenize(text) == tokenize(text, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Schöne, ÄRGER–Größe!", ["schöne", "ärger", "größe"]),
        ("Кошка сидит.", ["кошка", "сидит"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # vowel signs are marks: they belong to their words
        ("cafe\u0301 x", ["cafe\u0301", "x"]),
        ("猫がすき。ok", list("猫がすき") + ["ok"]),
        ("foo_bar it's", ["foo", "bar", "it", "s"]),
        ("… — !", []),
        ("", []),
    ],
)
def test_words_of_any_script_are_kept(text, words):
    assert UnicodeWords().tokenize(text) == words


def test_rouge_of_other_scripts_is_not_nought():
    for text in ("Кошка сидит на ковре", "猫がすき"):
        metric = make_metric("rouge2")
        assert metric.score(metric.statistics(text, text)) == 100


@pytest.mark.parametrize("name", METRICS)
def test_signatures_name_case_tokeniser_and_what_counted(name):
    signature = make_metric(name).signature()
    fields = dict(part.split(":", 1) for part in signature.split("|"))
    assert fields["nrefs"] == "1" and {"case"} < fields.keys()
    if name in SACREBLEU:
        assert fields["version"] == sacrebleu.__version__
    elif name.startswith("rouge"):
        assert re.fullmatch(r"rouge-score-\d+\.\d+.*", fields["version"])
        assert fields["tok"] == "unicode-words" and fields["stem"] == "no"
    else:
        assert (
            fields["tok"] in ("none", "whitespace", "char") and fields["library"] == "lev_plugins"
        )


def test_settings_show_in_the_signature():
    assert "case:mixed|tok:tercom|norm:yes" in make_metric("ter_normalized").signature()
    assert "norm:no" in ter().signature()
    assert "case:mixed" in ter(case_sensitive=True).signature()
    assert "tok:none" in bleu("none").signature() and "tok:13a" in bleu().signature()


def test_a_hundred_tokenised_lines_are_no_reason_to_warn(caplog):
    metric = make_metric("bleu")
    with caplog.at_level(logging.WARNING):
        assert metric.score(totals(metric, [("a b c d .", "a b c d .")] * 101)) > 99
    assert not caplog.records


def test_an_unknown_metric_names_the_known_ones():
    with pytest.raises(UserError, match="no metric 'rouge-2'.*bleu, ter, ter_normalized, chrf"):
        make_metric("rouge-2")


def test_rouge_without_its_library_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    with pytest.raises(UserError, match=r"rouge2 needs .*pip install 'lev_plugins\[report\]'"):
        make_metric("rouge2")


def test_the_package_does_not_load_rouge_score_before_it_is_needed(root):
    code = (
        "import sys, logging, lev_plugins; from lev_plugins.metrics.corpus import make_metric\n"
        "[make_metric(name) for name in ('bleu', 'ter', 'chrf', 'accuracy', 'cer')]\n"
        "assert not {'rouge_score', 'nltk'} & set(sys.modules)\n"
        "make_metric('rouge1')\n"
        "assert 'rouge_score' in sys.modules and not logging.root.handlers"
    )
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True, timeout=120)
