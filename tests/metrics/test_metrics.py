"""Metrics: sums of sentence statistics give the libraries' corpus scores; and as ``--scoring``."""

from collections.abc import Sequence

import pytest
import sacrebleu
from fairseq.data import Dictionary
from fairseq.scoring import build_scorer
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from tables import cases

import lev_plugins  # noqa: F401  (registers the scorers)
from lev_plugins.metrics import CORRECTION_METRICS
from lev_plugins.metrics.corpus import METRICS, WORD_METRICS, add_up, make_metric

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


def score(name: str, pairs: Pairs) -> float:
    metric = make_metric(name)
    return metric.score(add_up(metric, (metric.statistics(*pair) for pair in pairs)))


@pytest.mark.parametrize("name", METRICS)
def test_what_every_metric_promises(name):
    metric = make_metric(name)
    assert metric.name == name and metric.score([0.0] * metric.size) == 0
    good = ("the cat sat on the mat", "the cat sat on the mat")
    bad = ("a dog sat on the rug", "the cat sat on the mat")
    best, worse = score(name, [good]), score(name, [bad])
    assert best == pytest.approx(100 if metric.higher_is_better else 0, abs=1e-9)
    assert (worse < best) == metric.higher_is_better
    library = f"version:{sacrebleu.__version__}" if name in SACREBLEU else "library:lev_plugins"
    assert {"nrefs:1", library} < set(metric.signature().split("|"))
    with refuses("'rouge-2'", name):
        make_metric("rouge-2")


@pytest.mark.parametrize("name", SACREBLEU)
@given(pairs=PAIRS)
def test_sums_give_sacrebleus_corpus_score_exactly(name, pairs):
    seen = [("the cat sat on the mat .", "The cat sat on a mat ."), ("it's 3.5", "it's 3 , 5")]
    for rows in (pairs, seen):
        expected = SACREBLEU[name](*(list(side) for side in zip(*rows))).score
        assert score(name, rows) == expected
    assert 0 < expected < 100


@pytest.mark.parametrize("output, reference, expected", cases("metrics/cases.tsv", "scores"))
def test_scores_by_hand(output, reference, expected):
    values = [score(name, [(output, reference)]) for name in (*WORD_METRICS, "accuracy")]
    assert values == [pytest.approx(value, abs=1e-6) for value in expected]


def test_scores_of_corrections_by_hand():
    lines = [
        # source, output, reference
        ("tbe old house", "the old horse", "the old house"),
        ("by tne sea", "by the big sea", "by the sea"),
        ("alot of it", "a lot of it", "a lot of it"),
        ("word", "word", "word"),
        ("dirt", "", ""),
    ]
    scores = {
        name: metric.score(add_up(metric, (metric.statistics(*line) for line in lines)))
        for name, metric in CORRECTION_METRICS.items()
    }
    assert scores == pytest.approx(
        {
            "correction_recall": 100,
            "miscorrection_rate": 100 / 7,
            "edit_precision": 60,
            "edit_recall": 75,
            "edit_f05": 100 * 1.25 * 0.6 * 0.75 / (0.25 * 0.6 + 0.75),
        }
    )


# scorers ------------------------------------------------------------------------------------------

ROWS = [
    ("on the mat the cat sat .", "The cat sat on the mat ."),
    ("A dog barked", "A dog barks"),
    ("Yes", "Yes"),
]


@pytest.mark.parametrize(
    "flag, name",
    [("word_error_rate", "wer"), *zip(*[("cer", "ter", "word_accuracy", "wrr", "accuracy")] * 2)],
)
def test_scorers_give_their_metrics(flag, name):
    scorer, expected = build_scorer(flag, Dictionary()), score(name, ROWS)
    assert scorer.score() == 0 and " = 0.00 " in scorer.result_string()
    for out, ref in ROWS:
        scorer.add_string(ref, out)
    assert scorer.score() == expected and 0 < expected < 100
    how = make_metric(name).signature() if name != "accuracy" else "(1/3)"
    assert scorer.result_string().endswith(f" = {expected:.2f} {how}")
