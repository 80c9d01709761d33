"""Metrics of all predictions at once, against definitions and figures by hand."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from lev_plugins.systems.enct5.metrics import DEPTHS, NUM_THRESHOLDS, Metrics, ScoredExample
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_runtime.labels.predictions import entities, marks_entities

COUNTS = [0, 0, 1, 3, 50, 51, 400]  # of seven labels: two of each group, and one
LABELS = [f"label{number}" for number in range(len(COUNTS))]
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
CLASSIFICATION, REGRESSION = ProblemType.CLASSIFICATION, ProblemType.REGRESSION
MULTILABEL, TAGGING = ProblemType.MULTILABEL, ProblemType.TAGGING


def scored(predictions: Sequence[Any], labels: Sequence[Any]) -> list[ScoredExample]:
    """An example a row of predictions; a single class or value is a row."""
    pairs = zip(predictions, labels, strict=True)
    return [ScoredExample(np.atleast_1d(left), np.atleast_1d(right)) for left, right in pairs]


def probabilities(seed: int, rows: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of labels with two digits, and which hold; more often right than not."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(size=(rows, len(LABELS))) < np.linspace(0.1, 0.6, len(LABELS))
    logits = rng.normal(size=truth.shape) + 2 * truth - 1
    return 1 / (1 + np.exp(-logits)), truth


NEAR = 100 / (28 / 3) ** 0.5
#: kind, labels, predictions, what is right → some of the metrics, by hand; of taggers a digit a tag
BY_HAND = [
    (
        CLASSIFICATION,
        LABELS,
        [0, 1, 1, 2],
        [0, 1, 2, 2],
        {"accuracy": 75, "macro_f1": 100 / 3, "mcc": 70},
    ),
    (CLASSIFICATION, LABELS[:2], [1, 1, 0], [1, 0, 1], {"f1": 50}),
    (
        CLASSIFICATION,
        LABELS[:2],
        [0] * 4,
        [0] * 4,
        {"accuracy": 100, "macro_f1": 50, "f1": 0, "mcc": 0},
    ),
    (
        REGRESSION,
        [],
        [1e6 + 1, 1e6 + 2, 1e6 + 4],
        [1e6 + 1, 1e6 + 3, 1e6 + 2],
        {"pearson": NEAR, "spearman": 50, "mse": 5 / 3},
    ),
    (REGRESSION, [], [5.0], [3.0], {"pearson": 0, "spearman": 0, "mse": 4}),
    (REGRESSION, [], [1 / 3] * 9, range(9), {"pearson": 0, "spearman": 0}),
    (TAGGING, LABELS, "0123/4", "0125/45600", {"word_accuracy": 400 / 9}),  # cut off: errors
    (TAGGING, LABELS, "", "45", {"word_accuracy": 0}),
    # right; another type; a word too many; right
    (TAGGING, TAGS, "1201/1234", "1203/1034", {"entity_precision": 50, "entity_f1": 50}),
    # sentences end entities, and those that were cut off are missed
    (TAGGING, TAGS, "1/2", "1/0", {"entity_precision": 50, "entity_recall": 100}),
    (TAGGING, TAGS, "12/0", "122/034", {"entity_f1": 0}),
    # a label holds above the threshold alone
    (MULTILABEL, LABELS[:1], [[0.7], [0.5]], [[0], []], {"micro_f1": 100, "ndcg@5": 100}),
]


@pytest.mark.parametrize("kind, labels, predictions, right, expected", BY_HAND)
def test_metrics_by_hand(kind, labels, predictions, right, expected):
    if kind is TAGGING:
        predictions, right = (
            [[*map(int, row)] for row in side.split("/")] for side in (predictions, right)
        )
    rows = [np.array(row, dtype=None if kind is REGRESSION else int) for row in right]
    metrics = Metrics(kind, labels)
    scores = metrics.compute(scored(predictions, rows))
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    assert list(scores) == metrics.names


def slow_precision(row: np.ndarray, truth: np.ndarray, depth: int) -> float:
    """R-precision: of the k likeliest labels those that hold, of as many as there can be."""
    likeliest = sorted(range(len(row)), key=lambda label: -row[label])[:depth]
    return sum(truth[likeliest]) / min(depth, sum(truth))


@pytest.mark.parametrize("seed", range(3))
def test_many_labels_are_scored_as_scikit_learn_scores_them(seed):
    """Within a group only the texts that have one of its labels count."""
    predicted, truth = probabilities(seed)
    scores = Metrics(MULTILABEL, LABELS, COUNTS).compute(
        scored(predicted, map(np.flatnonzero, truth))
    )
    micro = sklearn_metrics.f1_score(truth, predicted > 0.5, average="micro")
    expected = {"micro_f1": 100 * micro}
    for prefix, members in {
        "": slice(7),
        "frequent_": [5, 6],
        "few_": [2, 3, 4],
        "zero_": [0, 1],
    }.items():
        has_label = truth[:, members].any(1)
        right, ranked = truth[has_label][:, members], predicted[has_label][:, members]
        for depth in DEPTHS:
            ndcg = sklearn_metrics.ndcg_score(right.astype(int), ranked, k=depth)
            precisions = [slow_precision(*pair, depth) for pair in zip(ranked, right)]
            expected |= {
                f"{prefix}ndcg@{depth}": 100 * ndcg,
                f"{prefix}rp@{depth}": 100 * np.mean(precisions),
            }
    del scores["micro_f1_tuned"], scores["threshold"]
    assert scores == pytest.approx(expected)


def slow_threshold(probabilities: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """The best micro-F1 of all thresholds, in percent; of the best ones that nearest to 0.5."""

    def rank(number: int) -> tuple[float, int]:
        holds = probabilities.astype(float) > number / NUM_THRESHOLDS
        f1 = 200 * (holds & truth).sum() / max(holds.sum() + truth.sum(), 1)
        return f1, -abs(number - NUM_THRESHOLDS // 2)

    best = max(range(NUM_THRESHOLDS), key=rank)
    return rank(best)[0], best / NUM_THRESHOLDS


@pytest.mark.parametrize("seed", range(20))
def test_the_tuned_threshold_is_the_best_of_a_hundred(seed):
    """Also of probabilities that are thresholds, in both precisions."""
    predicted, truth = probabilities(seed, rows=1 + seed // 3)
    predicted = predicted.round(2 + seed % 2 * 9).astype([np.float32, np.float64][seed // 2 % 2])
    metrics, examples = Metrics(MULTILABEL, LABELS), scored(predicted, map(np.flatnonzero, truth))
    tuned, half = (metrics.compute(examples, threshold) for threshold in (None, 0.5))
    f1, threshold = slow_threshold(predicted, truth)
    assert tuned["micro_f1_tuned"] == pytest.approx(f1) and tuned["threshold"] == threshold
    assert half["micro_f1_tuned"] == half["micro_f1"] and half["threshold"] == 0.5


@pytest.mark.parametrize("kind", list(ProblemType))
def test_metrics_are_numbers_without_examples_and_where_a_model_gives_none(kind):
    labels = [] if kind is REGRESSION else LABELS
    metrics = Metrics(kind, labels, [0] * 7)
    scores = metrics.compute([])
    assert list(scores) == metrics.names and scores.pop("threshold", 0.5) == 0.5
    assert not any(scores.values())
    if kind is REGRESSION or kind.is_multilabel:
        row = [math.nan] * max(len(labels), 1)
        scores = metrics.compute(scored([row] * 8, [[1]] * 8))
        scores.pop("mse", None)
        assert all(map(math.isfinite, scores.values()))


@pytest.mark.parametrize(
    "tags, expected",
    [
        ("I-X I-X B-X O I-Y I-X", "X02 X23 Y45 X56"),  # IOB1: B behind its like alone
        ("B-X I-X B-X O B-a-b", "X02 X23 a-b45"),  # IOB2
        ("B-X I-X E-X S-Y S-Y O", "X03 Y34 Y45"),  # IOBES
        ("U-X B-Y L-Y O B-X I-X L-X", "X01 Y13 X47"),  # BILOU
        # what breaks its scheme, as conlleval reads it
        ("B-X I-Y", "X01 Y12"),  # the type changes
        ("B-X E-X I-X", "X02 X23"),  # continues behind an end
        ("E-X E-X", "X01 X12"),
        ("S-X I-X", "X01 X12"),
        ("O L-X O", "X12"),
        ("B-X S-X", "X01 X12"),  # never closed
        ("", ""),
    ],
)
def test_entities_are_read_from_every_scheme(tags, expected):
    marked = [f"{entity.label}{entity.start}{entity.end}" for entity in entities(tags.split())]
    assert " ".join(marked) == expected


def test_labels_mark_entities_with_an_outside_tag_and_prefixes_alone():
    cases = {
        "B-PER I-PER O": 1,
        "O S-a U-b-c": 1,
        "O": 0,
        "": 0,
        "B-PER I-PER": 0,
        "NOUN O": 0,
        "B- O": 0,
        "B-PER O X-a": 0,
    }
    assert {labels: marks_entities(labels.split()) for labels in cases} == cases
