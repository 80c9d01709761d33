"""Metrics of all predictions at once, against definitions and figures by hand."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from lev_plugins.systems.enct5.metrics import (
    DEPTHS,
    NUM_THRESHOLDS,
    Metrics,
    ScoredExample,
    f1_by_threshold,
)
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_runtime.predictions import entities, marks_entities

SEEDS = range(3)
COUNTS = [0, 0, 1, 3, 50, 51, 400]  # of seven labels: two of each group, and one
LABELS = [f"label{number}" for number in range(len(COUNTS))]
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
CLASSIFICATION, REGRESSION = ProblemType.CLASSIFICATION, ProblemType.REGRESSION
MULTILABEL, TAGGING = ProblemType.MULTILABEL, ProblemType.TAGGING


def metrics_of(problem_type: ProblemType) -> Metrics:
    labels = [] if problem_type is REGRESSION else LABELS
    return Metrics(problem_type, labels, COUNTS if problem_type.is_multilabel else ())


def scored(predictions: Sequence[Any], labels: Sequence[Any]) -> list[ScoredExample]:
    """A single class or value an example."""
    pairs = zip(predictions, labels, strict=True)
    return [ScoredExample(np.array([predicted]), np.array([right])) for predicted, right in pairs]


def sampled(problem_type: ProblemType, count: int, seed: int) -> list[ScoredExample]:
    """Predictions that are right more often than not."""
    rng = np.random.default_rng(seed)
    if problem_type is REGRESSION:
        values = rng.uniform(0, 5, count)
        return scored(values + rng.normal(size=count), values)
    if problem_type.is_multilabel:
        truth = rng.uniform(size=(count, len(LABELS))) < np.linspace(0.1, 0.6, len(LABELS))
        logits = rng.normal(size=truth.shape) + 2 * truth - 1
        probabilities = (1 / (1 + np.exp(-logits))).astype(np.float32)
        ids = [np.flatnonzero(row) for row in truth]
        return [ScoredExample(*pair) for pair in zip(probabilities, ids)]
    right = rng.integers(len(LABELS), size=count)
    guesses = rng.integers(len(LABELS), size=count)
    return scored(np.where(rng.uniform(size=count) < 0.6, right, guesses), right)


def columns(examples: Sequence[ScoredExample]) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and truth of many labels, E × N each."""
    predictions = np.stack([example.predictions for example in examples])
    truth = np.zeros(predictions.shape, dtype=bool)
    for row, example in zip(truth, examples):
        row[example.labels] = True
    return predictions, truth


def test_scores_of_classes_by_hand():
    """Seven classes, of which three are there; then two, of which the second one's F1 is told."""
    scores = metrics_of(CLASSIFICATION).compute(scored([0, 1, 1, 2], [0, 1, 2, 2]))
    assert scores["accuracy"] == 75
    assert scores["macro_f1"] == pytest.approx(100 * (1 + 2 / 3 + 2 / 3) / 7)
    assert scores["mcc"] == pytest.approx(70)
    binary = Metrics(CLASSIFICATION, LABELS[:2]).compute(scored([1, 1, 0], [1, 0, 1]))
    assert binary["f1"] == pytest.approx(50)


def test_words_that_were_cut_off_are_errors():
    metrics = Metrics(TAGGING, LABELS)
    exact = ScoredExample(np.array([0, 1, 2, 3]), np.array([0, 1, 2, 5]))
    assert metrics.compute([exact]) == {"word_accuracy": 75.0}
    cut = ScoredExample(np.array([4]), np.array([4, 5, 6, 0, 0]))
    assert metrics.compute([exact, cut]) == {"word_accuracy": pytest.approx(400 / 9)}
    assert metrics.compute([cut._replace(predictions=np.array([]))]) == {"word_accuracy": 0.0}


def slow_precision(row: np.ndarray, truth: np.ndarray, depth: int) -> float:
    """R-precision: of the k likeliest labels those that hold, of as many as there can be."""
    likeliest = sorted(range(len(row)), key=lambda label: -row[label])[:depth]
    return sum(truth[likeliest]) / min(depth, sum(truth))


@pytest.mark.parametrize("seed", SEEDS)
def test_many_labels_are_scored_as_scikit_learn_scores_them(seed):
    """Within a group only the texts that have one of its labels count."""
    examples = sampled(MULTILABEL, 40, seed)
    metrics = metrics_of(MULTILABEL)
    scores = metrics.compute(examples)
    probabilities, truth = columns(examples)
    micro = sklearn_metrics.f1_score(truth, probabilities > 0.5, average="micro")
    assert scores["micro_f1"] == pytest.approx(100 * micro)
    for prefix, members in metrics.groups.items():
        has_label = truth[:, members].any(1)
        assert prefix == "" or not has_label.all()
        right, ranked = truth[has_label][:, members], probabilities[has_label][:, members]
        for depth in DEPTHS:
            ndcg = 1.0
            if members.sum() > 1:
                ndcg = sklearn_metrics.ndcg_score(right.astype(int), ranked, k=depth)
            assert scores[f"{prefix}ndcg@{depth}"] == pytest.approx(100 * ndcg)
            precisions = [slow_precision(*pair, depth) for pair in zip(ranked, right)]
            assert scores[f"{prefix}rp@{depth}"] == pytest.approx(100 * np.mean(precisions))


def test_labels_are_grouped_by_how_often_training_has_them():
    groups = {name: members.tolist() for name, members in metrics_of(MULTILABEL).groups.items()}
    assert groups == {
        "": [True] * 7,
        "frequent_": [False] * 5 + [True] * 2,
        "few_": [False] * 2 + [True] * 3 + [False] * 2,
        "zero_": [True] * 2 + [False] * 5,
    }
    assert list(Metrics(MULTILABEL, LABELS[:2], [3, 3]).groups) == ["", "few_"]
    assert list(Metrics(MULTILABEL, LABELS[:2]).groups) == [""], "no counts are known"


def slow_threshold(probabilities: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """The best micro-F1 of all thresholds, in percent; of the best ones that nearest to 0.5."""
    candidates = []
    for number in range(NUM_THRESHOLDS):
        threshold = number / NUM_THRESHOLDS
        holds = probabilities.astype(float) > threshold
        f1 = 200 * (holds & truth).sum() / max(holds.sum() + truth.sum(), 1)
        candidates.append((-f1, abs(number - NUM_THRESHOLDS // 2), threshold))
    f1, _, threshold = min(candidates)
    return -f1, threshold


@given(
    scores=st.lists(
        st.one_of(st.integers(0, 100).map(lambda n: n / 100), st.floats(0, 1, width=32)),
        min_size=4,
        max_size=24,
    ),
    seed=st.integers(0, 10**6),
    precise=st.booleans(),
)
def test_the_tuned_threshold_is_the_best_of_a_hundred(scores, seed, precise):
    probabilities = np.array(scores[: len(scores) // 2 * 2]).reshape(-1, 2)
    probabilities = probabilities if precise else probabilities.astype(np.float32)
    truth = np.random.default_rng(seed).uniform(size=probabilities.shape) < 0.4
    pairs = zip(probabilities, map(np.flatnonzero, truth))
    examples = [ScoredExample(*pair) for pair in pairs]
    metrics = Metrics(MULTILABEL, LABELS[:2])
    tuned = metrics.compute(examples)
    f1, threshold = slow_threshold(probabilities, truth)
    assert tuned["micro_f1_tuned"] == pytest.approx(f1)
    assert tuned["threshold"] == threshold
    half = metrics.compute(examples, threshold=0.5)
    assert half["micro_f1_tuned"] == half["micro_f1"] <= tuned["micro_f1_tuned"]
    assert half["threshold"] == 0.5


def test_a_label_holds_above_the_threshold_alone():
    truth = np.array([[True, False]])
    f1 = f1_by_threshold(np.array([[0.3, 0.3]]), truth)
    assert f1[29] == pytest.approx(200 / 3) and f1[30] == 0


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_scores_of_values_by_hand(offset):
    predicted, right = np.array([1.0, 2, 4]) + offset, np.array([1.0, 3, 2]) + offset
    scores = metrics_of(REGRESSION).compute(scored(predicted, right))
    expected = {"pearson": 100 / (28 / 3) ** 0.5, "spearman": 50, "mse": 5 / 3}
    assert scores == pytest.approx(expected)


def test_the_f1_of_a_class_is_told_where_there_are_two():
    two, three = (Metrics(ProblemType.CLASSIFICATION, list(labels)) for labels in ("ny", "nyz"))
    assert "f1" in two.names and "f1" not in three.names


@pytest.mark.parametrize("problem_type", list(ProblemType))
def test_all_metrics_are_numbers_without_examples_and_where_a_model_gives_none(problem_type):
    metrics = metrics_of(problem_type)
    scores = metrics.compute([])
    assert list(scores) == metrics.names
    assert {scores[name] for name in scores if name != "threshold"} == {0.0}
    assert scores.get("threshold", 0.5) == 0.5
    examples = sampled(problem_type, 8, 1)
    assert list(metrics.compute(examples)) == metrics.names
    if problem_type is not REGRESSION and not problem_type.is_multilabel:
        return  # ids are always numbers
    for bad in (math.nan, math.inf):
        broken = [
            example._replace(predictions=np.full_like(example.predictions, bad))
            for example in examples
        ]
        scores = metrics.compute(broken)
        assert all(math.isfinite(value) for name, value in scores.items() if name != "mse")


def test_one_class_or_label_alone_gives_numbers():
    scores = Metrics(CLASSIFICATION, LABELS[:2]).compute(scored([0] * 4, [0] * 4))
    assert scores == {"accuracy": 100.0, "macro_f1": 50.0, "f1": 0.0, "mcc": 0.0}
    with_label = ScoredExample(np.array([0.7]), np.array([0]))
    without = ScoredExample(np.array([0.2]), np.array([], dtype=int))
    scores = Metrics(MULTILABEL, LABELS[:1], [0]).compute([with_label, without])
    assert scores["ndcg@5"] == scores["zero_rp@1"] == 100.0


@pytest.mark.parametrize("value, number", [(0.0, 1), (0.1, 1000), (1 / 3, 2), (-1e9, 1000)])
def test_a_constant_has_no_correlation(value, number):
    constant, varied = np.full(number, value), np.linspace(0, 5, number)
    for predicted, right in ((constant, varied), (varied, constant), (constant, constant)):
        scores = metrics_of(REGRESSION).compute(scored(predicted, right))
        assert (scores["pearson"], scores["spearman"]) == (0.0, 0.0)
        assert math.isfinite(scores["mse"])


def test_no_correlation_is_above_a_hundred_percent():
    for seed in SEEDS:
        right = np.random.default_rng(seed).uniform(0, 5, 30)
        for predicted, sign in ((right / 3 + 1, 1), (5 - right, -1)):
            scores = metrics_of(REGRESSION).compute(scored(predicted, right))
            assert 99.999 < sign * scores["pearson"] <= 100
            assert sign * scores["spearman"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("I-X I-X B-X O I-Y I-X", "X02 X23 Y45 X56"),  # IOB1: B behind its like alone
        ("B-X I-X B-X O B-a-b", "X02 X23 a-b45"),  # IOB2
        ("B-X I-X E-X S-Y S-Y O", "X03 Y34 Y45"),  # IOBES
        ("U-X B-Y L-Y O B-X I-X L-X", "X01 Y13 X47"),  # BILOU
        # what breaks its scheme, as conlleval reads it
        ("I-X I-X", "X02"),  # begins without B
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
    assert marks_entities(["B-PER", "I-PER", "O"]) and marks_entities(["O", "S-a", "U-b-c"])
    for labels in ("O", "", "B-PER I-PER", "NOUN O", "B- O", "B-PER O X-a"):
        assert not marks_entities(labels.split()), labels


def entity_scores(predicted: list[list[int]], right: list[list[int]]) -> tuple[float, float]:
    """Precision and recall of tags of sentences."""
    pairs = zip(predicted, right, strict=True)
    examples = [ScoredExample(np.array(tags), np.array(labels)) for tags, labels in pairs]
    scores = Metrics(TAGGING, TAGS).compute(examples)
    return scores["entity_precision"], scores["entity_recall"]


def test_an_entity_is_right_if_its_words_and_its_type_are():
    right = [[1, 2, 0, 3], [1, 0, 3, 4]]
    predicted = [[1, 2, 0, 1], [1, 2, 3, 4]]  # right; another type; one word too many; right
    assert entity_scores(predicted, right) == (50, 50)
    # sentences end entities, and those that were cut off are missed
    assert entity_scores([[1], [2]], [[1], [0]]) == (50, 100)
    assert entity_scores([[1, 2], [0]], [[1, 2, 2], [0, 3, 4]]) == (0, 0)
    examples = [ScoredExample(np.array([1, 1, 0]), np.array([1, 0, 1]))]
    assert Metrics(TAGGING, TAGS).compute(examples)["entity_f1"] == 50
