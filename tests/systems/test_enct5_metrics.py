"""Metrics as sums: any split gives the score of the whole, and the whole is scikit-learn's."""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.systems.enct5.metrics import (
    BINS,
    CELLS,
    FREQUENT,
    TOP,
    entities,
    entity_statistics,
    label_groups,
    marks_entities,
    statistics,
    summary,
)
from lev_plugins.systems.enct5.problem_types import ProblemType

SEEDS = range(3)
COUNTS = [0, 0, 1, 3, FREQUENT, FREQUENT + 1, 400]  # of seven labels: two of each group, and one
LABELS = len(COUNTS)
SPAN = (0.0, 5.0)


def sampled(kind: ProblemType, examples: int, seed: int) -> tuple[Tensor, Tensor]:
    """Scores and targets, right more often than not."""
    torch.manual_seed(seed)
    if kind is ProblemType.REGRESSION:
        targets = torch.rand(examples, dtype=torch.double) * SPAN[1]
        return (targets + torch.randn(examples)).unsqueeze(1), targets
    if kind.many:
        targets = torch.rand(examples, LABELS) < torch.linspace(0.1, 0.6, LABELS)
        return torch.sigmoid(torch.randn(examples, LABELS) + 2 * targets - 1), targets
    targets = torch.randint(LABELS, (examples,))
    logits = torch.randn(examples, LABELS)
    logits[torch.arange(examples), targets] += 2
    return logits.softmax(-1), targets


def counted(kind: ProblemType, scores: Tensor, targets: Tensor, cut: int = 0) -> dict[str, Any]:
    groups = label_groups(COUNTS) if kind.many else None
    return statistics(kind, scores, targets, cut, groups, SPAN)


def measured(kind: ProblemType, scores: Tensor, targets: Tensor, cut: int = 0) -> dict[str, float]:
    return summary(kind, counted(kind, scores, targets, cut))


def added(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Statistics as fairseq adds them over batches and processes: names of the first."""
    assert all(part.keys() == parts[0].keys() for part in parts)
    return {name: sum(part[name] for part in parts) for name in parts[0]}


@given(
    kind=st.sampled_from(list(ProblemType)),
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(0, 40), max_size=6),
)
def test_any_split_gives_the_metrics_of_the_whole(kind, seed, cuts):
    scores, targets = sampled(kind, 40, seed)
    edges = [0, *sorted(cuts), 40]  # some parts are empty
    words = list(range(len(edges) - 1)) if kind is ProblemType.TAGGING else [0] * (len(edges) - 1)
    parts = [
        counted(kind, scores[start:end], targets[start:end], cut)
        for start, end, cut in zip(edges, edges[1:], words)
    ]
    random.Random(seed).shuffle(parts)
    whole = measured(kind, scores, targets, sum(words))
    assert summary(kind, added(parts)) == pytest.approx(whole, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_classes_are_scored_as_scikit_learn_scores_them(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    scores, targets = sampled(ProblemType.CLASSIFICATION, 50 if seed else 4, seed)
    said, true = scores.argmax(1).numpy(), targets.numpy()
    found = measured(ProblemType.CLASSIFICATION, scores, targets)
    every = {"labels": range(LABELS), "average": "macro", "zero_division": 0}
    assert found["accuracy"] == pytest.approx(100 * metrics.accuracy_score(true, said))
    assert found["macro_f1"] == pytest.approx(100 * metrics.f1_score(true, said, **every))
    assert found["mcc"] == pytest.approx(100 * metrics.matthews_corrcoef(true, said))
    two = measured(ProblemType.CLASSIFICATION, scores[:, :2], targets % 2)["f1"]
    second = metrics.f1_score(true % 2, scores[:, :2].argmax(1).numpy(), zero_division=0)
    assert two == pytest.approx(100 * second)


def test_words_that_were_cut_off_are_errors():
    scores, targets = torch.eye(LABELS)[[0, 1, 2, 3]], torch.tensor([0, 1, 2, 5])
    assert measured(ProblemType.TAGGING, scores, targets) == {"word_accuracy": 75.0}
    assert measured(ProblemType.TAGGING, scores, targets, cut=2) == {"word_accuracy": 50.0}
    nothing = torch.zeros(0, LABELS), torch.zeros(0, dtype=torch.long)
    assert measured(ProblemType.TAGGING, *nothing, cut=3) == {"word_accuracy": 0.0}


def slow_precision(said: Sequence[float], truth: Sequence[bool], k: int) -> float:
    """R-precision at k: of the k likeliest labels those that hold, of as many as there can be."""
    likeliest = sorted(range(len(said)), key=lambda label: -said[label])[:k]
    return sum(truth[label] for label in likeliest) / min(k, sum(truth))


@pytest.mark.parametrize("seed", SEEDS)
def test_many_labels_are_scored_as_scikit_learn_scores_them(seed):
    """Within a group only the texts that have one of its labels count."""
    metrics = pytest.importorskip("sklearn.metrics")
    scores, targets = sampled(ProblemType.MULTILABEL, 40, seed)
    found = measured(ProblemType.MULTILABEL, scores, targets)
    micro = metrics.f1_score(targets.numpy(), scores.numpy() > 0.5, average="micro")
    assert found["micro_f1"] == pytest.approx(100 * micro)
    for group, members in label_groups(COUNTS).items():
        truth, said = (one[:, members].numpy() for one in (targets, scores))
        some, prefix = truth.any(1), "" if group == "all" else f"{group}_"
        assert group == "all" or not some.all()
        for k in TOP:
            wanted = metrics.ndcg_score(truth[some], said[some], k=k) if len(truth[0]) > 1 else 1
            assert found[f"{prefix}ndcg@{k}"] == pytest.approx(100 * wanted)
            each = [slow_precision(*row, k) for row in zip(said[some], truth[some])]
            assert found[f"{prefix}rp@{k}"] == pytest.approx(100 * sum(each) / len(each))


def test_labels_are_grouped_by_how_often_training_has_them():
    found = {name: members.int().tolist() for name, members in label_groups(COUNTS).items()}
    assert found["all"] == [1] * 7 and found["frequent"] == [0, 0, 0, 0, 0, 1, 1]
    assert found["few"] == [0, 0, 1, 1, 1, 0, 0] and found["zero"] == [1, 1, 0, 0, 0, 0, 0]
    assert list(label_groups([3, 3])) == ["all", "few"]


def slow_threshold(scores: Tensor, targets: Tensor) -> tuple[float, float]:
    """The best micro-F1 of all thresholds, in percent; of the best ones that nearest to 0.5."""
    found = []
    for number in range(BINS):
        threshold = number / BINS
        said = scores.double() > threshold
        right = int((said & targets).sum())
        f1 = 200 * right / max(int(said.sum()) + int(targets.sum()), 1)
        found.append((-f1, abs(number - BINS // 2), threshold))
    f1, _, threshold = min(found)
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
    torch.manual_seed(seed)
    said = torch.tensor(scores[: len(scores) // 2 * 2], dtype=torch.double).view(-1, 2)
    said = said if precise else said.float()
    targets = torch.rand(said.shape) < 0.4
    sums = statistics(ProblemType.MULTILABEL, said, targets)
    found, half = (summary(ProblemType.MULTILABEL, sums, one) for one in (None, 0.5))
    f1, threshold = slow_threshold(said, targets)
    assert found["micro_f1_tuned"] == pytest.approx(f1)
    assert found["threshold"] == threshold
    assert found["micro_f1"] <= found["micro_f1_tuned"]
    assert (half["micro_f1_tuned"], half["threshold"]) == (found["micro_f1"], 0.5)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("seed", SEEDS)
def test_values_are_scored_as_scipy_scores_them(seed, offset):
    stats = pytest.importorskip("scipy.stats")
    scores, targets = (one + offset for one in sampled(ProblemType.REGRESSION, 60, seed))
    span = (offset, offset + 5)
    sums = statistics(ProblemType.REGRESSION, scores, targets, span=span)
    found = summary(ProblemType.REGRESSION, sums)
    said, true = scores.squeeze(1).numpy(), targets.numpy()
    assert found["pearson"] == pytest.approx(100 * stats.pearsonr(said, true)[0], abs=1e-6)
    assert found["mse"] == pytest.approx(np.square(said - true).mean())
    assert found["spearman"] == pytest.approx(100 * stats.spearmanr(said, true)[0], abs=2)
    # what is outside of the span shares the outermost bins
    bins = [np.clip(np.floor((one - offset) / 5 * CELLS), 0, CELLS - 1) for one in (said, true)]
    assert offset or found["spearman"] == pytest.approx(100 * stats.spearmanr(*bins)[0])


@pytest.mark.parametrize("kind", list(ProblemType))
def test_all_metrics_are_numbers_without_examples_and_where_a_model_gives_none(kind):
    found = measured(kind, *sampled(kind, 0, 1))
    assert {found[name] for name in found if name != "threshold"} == {0.0}
    assert found.get("threshold", 0.5) == 0.5
    scores, targets = sampled(kind, 8, 1)
    for bad in (math.nan, math.inf):
        found = measured(kind, torch.full_like(scores, bad), targets)
        assert all(math.isfinite(value) for name, value in found.items() if name != "mse")


def test_one_class_or_label_alone_gives_numbers():
    scores, targets = torch.tensor([[0.9, 0.1]] * 4), torch.zeros(4, dtype=torch.long)
    found = measured(ProblemType.CLASSIFICATION, scores, targets)
    assert found == {"accuracy": 100.0, "macro_f1": 50.0, "f1": 0.0, "mcc": 0.0}
    scores, targets = torch.tensor([[0.7], [0.2]]), torch.tensor([[True], [False]])
    sums = statistics(ProblemType.MULTILABEL, scores, targets, groups=label_groups([0]))
    assert summary(ProblemType.MULTILABEL, sums)["ndcg@5"] == 100.0


def correlations(said: Tensor, true: Tensor) -> tuple[float, float]:
    found = measured(ProblemType.REGRESSION, said.unsqueeze(1), true)
    assert math.isfinite(found["mse"])
    return found["pearson"], found["spearman"]


@pytest.mark.parametrize("value, number", [(0.0, 1), (0.1, 1000), (1 / 3, 2), (-1e9, 1000)])
def test_a_constant_has_no_correlation(value, number):
    constant = torch.full((number,), value, dtype=torch.double)
    varied = torch.linspace(0, 5, number, dtype=torch.double)
    for said, true in ((constant, varied), (varied, constant), (constant, constant)):
        assert correlations(said, true) == (0.0, 0.0)


def test_no_correlation_is_above_a_hundred_percent():
    for seed in range(20):
        torch.manual_seed(seed)
        true = torch.rand(30, dtype=torch.double) * 5
        assert 99.999 < correlations(true / 3 + 1, true)[0] <= 100
        assert correlations(5 - true, true)[0] < -99.999
    said, true = torch.tensor([[3.0], [4.0], [5.0]]), torch.tensor([3.0, 3.5, 4.0])
    sums = statistics(ProblemType.REGRESSION, said, true, span=(3.0, 3.0))  # of training
    assert summary(ProblemType.REGRESSION, sums)["pearson"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("tags", "wanted"),
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
def test_entities_are_read_from_every_scheme(tags, wanted):
    found = [f"{one.label}{one.start}{one.end}" for one in entities(tags.split())]
    assert " ".join(found) == wanted


def test_labels_mark_entities_with_an_outside_tag_and_prefixes_alone():
    assert marks_entities(["B-PER", "I-PER", "O"]) and marks_entities(["O", "S-a", "U-b-c"])
    for labels in ("O", "", "B-PER I-PER", "NOUN O", "B- O", "B-PER O X-a"):
        assert not marks_entities(labels.split()), labels


def spotted(said: list[list[int]], true: list[list[int]]) -> list[float]:
    found = torch.tensor([tag for one in said for tag in one], dtype=torch.long)
    sentences = list(zip(true, map(len, said)))
    labels = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    return entity_statistics(labels, found, sentences)["entities"].tolist()


def test_an_entity_is_right_if_its_words_and_its_type_are():
    true = [[1, 2, 0, 3], [1, 0, 3, 4]]
    said = [[1, 2, 0, 1], [1, 2, 3, 4]]  # right; another type; one word too many; right
    assert spotted(said, true) == [4, 4, 2]
    # sentences end entities, and those that were cut off are missed
    assert spotted([[1], [2]], [[1], [2]]) == spotted([[1, 0, 1]], [[1, 0, 1]])
    assert spotted([[1, 2], [0]], [[1, 2, 2], [0, 3, 4]]) == [2, 1, 0]
    assert spotted([[]], [[]]) == spotted([], []) == [0, 0, 0]
    sums = dict.fromkeys(("true", "said", "both"), torch.ones(1).double())
    sums |= {"cut": 0.0, "entities": torch.tensor([4.0, 5.0, 2.0])}
    whole = summary(ProblemType.TAGGING, sums)
    assert whole["entity_f1"] == pytest.approx(400 / 9)
    assert (whole["entity_precision"], whole["entity_recall"]) == (40, 50)
