"""Metrics of all predictions at once, against definitions and figures by hand."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from tables import cases, table

from lev_plugins.systems.enct5.metrics import DEPTHS, NUM_THRESHOLDS, Metrics, ScoredExample
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_runtime.labels.predictions import entities, marks_entities

COUNTS = [0, 0, 1, 3, 50, 51, 400]  # of seven labels: two of each group, and one
LABELS = [f"label{number}" for number in range(len(COUNTS))]
REGRESSION, MULTILABEL = ProblemType.REGRESSION, ProblemType.MULTILABEL


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


@pytest.mark.parametrize("kind, labels, predictions, right, expected", cases("systems/metrics.tsv"))
def test_metrics_by_hand(kind, labels, predictions, right, expected):
    """Words that are cut off are errors, and sentences end entities."""
    kind = ProblemType(kind)
    number = float if kind is REGRESSION else int
    rows = [np.array(row, dtype=number) for row in right]
    metrics = Metrics(kind, labels.split())
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


@pytest.mark.parametrize("why, tags, expected", table("systems/entities.tsv"))
def test_entities_are_read_from_every_scheme(why, tags, expected):
    marked = [f"{entity.label}{entity.start}{entity.end}" for entity in entities(tags.split())]
    assert " ".join(marked) == expected


@pytest.mark.parametrize("labels, marks", cases("systems/marks.tsv"))
def test_labels_mark_entities_with_an_outside_tag_and_prefixes_alone(labels, marks):
    assert marks_entities(labels.split()) == marks
