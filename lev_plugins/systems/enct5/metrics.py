"""Gathers the predictions of a validation set from all processes, and computes metrics.

All metrics are in percent except the squared error and the threshold. Shapes: E examples,
N labels.
"""

import functools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from fairseq.distributed import utils as distributed
from numpy.typing import NDArray

from lev_runtime.labels.predictions import entities, marks_entities

from .problem_types import ProblemType

Array = NDArray[Any]

DEPTHS = (1, 3, 5)  # the k of RP@k and nDCG@k
NUM_THRESHOLDS = 100  # thresholds that are tried: 0.00 to 0.99
DEFAULT_THRESHOLD = 0.5
MIN_FREQUENT = 51  # occurrences in training of a frequent label (paper, §4.2)


class ScoredExample(NamedTuple):
    """The predictions for an example, and its labels."""

    #: a class; a value; the probabilities of N labels; or the tags of words that were not cut off
    predictions: Array
    #: the class; the value; the labels that hold; or the tags of all words
    labels: Array


class Validation:
    """Predictions by the number of their example, so that each counts once.

    fairseq gives a process that has run out of batches the first one again.
    """

    def __init__(self, metrics: "Metrics") -> None:
        self.metrics = metrics
        self.clear()

    def __len__(self) -> int:
        return len(self.examples)

    def clear(self) -> None:
        """Begins another set."""
        self.examples: dict[int, ScoredExample] = {}
        #: number of examples, threshold → metrics
        self._values: dict[tuple[int, float | None], dict[str, float]] = {}

    def add(self, examples: Mapping[int, ScoredExample]) -> None:
        """Adds a batch of each process; all processes have to call it."""
        for gathered in _gather(examples):
            self.examples.update(gathered)

    def value(self, name: str, threshold: float | None) -> float:
        """Returns a metric of all examples (:meth:`Metrics.compute`); computes all at once."""
        state = len(self.examples), threshold
        if state not in self._values:
            examples = [self.examples[index] for index in sorted(self.examples)]
            self._values[state] = self.metrics.compute(examples, threshold)
        return self._values[state][name]


def _gather(examples: Mapping[int, ScoredExample]) -> list[Mapping[int, ScoredExample]]:
    """Returns the batches of all processes that validate."""
    world_size = distributed.get_data_parallel_world_size()
    if world_size == 1:
        return [examples]
    batches: list[Mapping[int, ScoredExample]] = [{}] * world_size
    group = distributed.get_data_parallel_group()
    torch.distributed.all_gather_object(batches, examples, group=group)
    return batches


@dataclass
class Metrics:
    """The metrics of a problem type."""

    problem_type: ProblemType
    labels: Sequence[str] = ()  # names in order, none for values
    counts: Sequence[int] = ()  # how often training has each

    @functools.cached_property
    def names(self) -> list[str]:
        """Returns the names of the metrics; the first is the one to compare by."""
        if self.problem_type is ProblemType.REGRESSION:
            return ["pearson", "spearman", "mse"]
        if self.problem_type is ProblemType.TAGGING:
            names = ["word_accuracy"]
            if marks_entities(self.labels):
                names += ["entity_f1", "entity_precision", "entity_recall"]
            return names
        if self.problem_type is ProblemType.CLASSIFICATION:
            return ["accuracy", "macro_f1", "mcc", *(["f1"] if len(self.labels) == 2 else [])]
        names = ["micro_f1", "micro_f1_tuned", "threshold"]
        for prefix in self.groups:
            names += [f"{prefix}{name}@{depth}" for depth in DEPTHS for name in ("rp", "ndcg")]
        return names

    @functools.cached_property
    def groups(self) -> dict[str, Array]:
        """Returns prefix of a metric's name → the group's labels (N, bool); no empty groups."""
        groups = {"": np.ones(len(self.labels), bool)}
        if self.counts:
            counts = np.array(self.counts)
            is_frequent = counts >= MIN_FREQUENT
            is_absent = counts == 0
            groups["frequent_"] = is_frequent
            groups["few_"] = ~is_frequent & ~is_absent
            groups["zero_"] = is_absent
        return {prefix: members for prefix, members in groups.items() if members.any()}

    def compute(
        self, examples: Sequence[ScoredExample], threshold: float | None = None
    ) -> dict[str, float]:
        """Returns the metrics by their names.

        Args:
            examples: E examples; if there are none, all metrics are 0.
            threshold: of ``micro_f1_tuned``; None: the best for these examples.
        """
        if not examples:
            is_threshold = [name == "threshold" for name in self.names]
            return dict(zip(self.names, DEFAULT_THRESHOLD * np.array(is_threshold)))
        if self.problem_type is ProblemType.TAGGING:
            return self._tag_metrics(examples)
        if self.problem_type.is_multilabel:
            return self._label_metrics(examples, threshold)
        predictions = np.concatenate([example.predictions for example in examples])
        labels = np.concatenate([example.labels for example in examples])
        if self.problem_type is ProblemType.REGRESSION:
            return value_metrics(predictions, labels)
        return class_metrics(predictions, labels, len(self.labels))

    def _tag_metrics(self, examples: Sequence[ScoredExample]) -> dict[str, float]:
        """Returns the metrics of tags; words that were cut off count as errors.

        Of entities words and type have to be right.
        """
        num_words = num_right = 0
        num_predicted = num_true = num_correct = 0
        for tags, labels in examples:
            num_words += len(labels)
            num_right += int((tags == labels[: len(tags)]).sum())
            predicted = set(entities([self.labels[tag] for tag in tags]))
            true = set(entities([self.labels[tag] for tag in labels]))
            num_predicted += len(predicted)
            num_true += len(true)
            num_correct += len(predicted & true)
        metrics = {
            "word_accuracy": 100 * num_right / max(num_words, 1),
            "entity_f1": 200 * num_correct / max(num_true + num_predicted, 1),
            "entity_precision": 100 * num_correct / max(num_predicted, 1),
            "entity_recall": 100 * num_correct / max(num_true, 1),
        }
        return {name: metrics[name] for name in self.names}

    def _label_metrics(
        self, examples: Sequence[ScoredExample], threshold: float | None
    ) -> dict[str, float]:
        probabilities = np.stack([example.predictions for example in examples])
        truth = np.zeros(probabilities.shape, dtype=bool)
        for row, example in zip(truth, examples):
            row[example.labels] = True
        f1 = f1_by_threshold(probabilities, truth)
        middle = round(DEFAULT_THRESHOLD * NUM_THRESHOLDS)
        if threshold is None:  # the best one; of several the one nearest to the middle
            places = np.flatnonzero(f1 == f1.max())
            best = int(places[np.abs(places - middle).argmin()])
        else:
            best = min(round(threshold * NUM_THRESHOLDS), NUM_THRESHOLDS - 1)
        metrics = {
            "micro_f1": float(f1[middle]),
            "micro_f1_tuned": float(f1[best]),
            "threshold": best / NUM_THRESHOLDS,
        }
        for prefix, members in self.groups.items():
            ranking = ranking_metrics(probabilities[:, members], truth[:, members])
            metrics |= {f"{prefix}{name}": value for name, value in ranking.items()}
        return metrics


def class_metrics(predictions: Array, labels: Array, num_labels: int) -> dict[str, float]:
    """Returns accuracy, macro-F1, Matthews' correlation and, for two classes, F1 of the second.

    Args:
        predictions, labels: E ids.
    """
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

    classes = range(num_labels)
    macro_f1 = f1_score(labels, predictions, labels=classes, average="macro", zero_division=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a single class
        matthews = matthews_corrcoef(labels, predictions)
    metrics = {
        "accuracy": accuracy_score(labels, predictions),
        "macro_f1": macro_f1,
        "mcc": matthews,
    }
    if num_labels == 2:
        metrics["f1"] = f1_score(labels, predictions, zero_division=0)
    return {name: 100 * float(value) for name, value in metrics.items()}


def value_metrics(predictions: Array, labels: Array) -> dict[str, float]:
    """Returns the correlations of Pearson and Spearman, and the mean squared error.

    Correlations are 0 if one side is constant or not finite.

    Args:
        predictions, labels: E values.
    """
    from scipy.stats import pearsonr, spearmanr

    predictions = predictions.astype(np.float64)
    metrics = {}
    for name, correlation in (("pearson", pearsonr), ("spearman", spearmanr)):
        value = np.nan
        if len(labels) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about a side that is constant or not finite
                value = correlation(predictions, labels).statistic
        metrics[name] = 100 * float(value) if np.isfinite(value) else 0.0
    return metrics | {"mse": float(np.square(predictions - labels).mean())}


def f1_by_threshold(probabilities: Array, truth: Array) -> Array:
    """Returns micro-F1 in percent at each threshold, above which a label holds.

    Args:
        probabilities: E × N.
        truth: E × N, bool.
    """
    num_predicted = _num_above(probabilities.ravel())
    num_correct = _num_above(probabilities[truth])
    return 200 * num_correct / np.maximum(num_predicted + truth.sum(), 1)


def _num_above(probabilities: Array) -> Array:
    """Returns how many probabilities are above each threshold."""
    thresholds = np.arange(NUM_THRESHOLDS) / NUM_THRESHOLDS
    ordered = np.sort(probabilities.astype(np.float64))
    return len(ordered) - np.searchsorted(ordered, thresholds, side="right")


def ranking_metrics(probabilities: Array, truth: Array) -> dict[str, float]:
    """Returns R-precision and nDCG at each depth, over the examples that have a label.

    Args:
        probabilities: E × N.
        truth: E × N, bool.
    """
    has_label = truth.any(1)
    truth = truth[has_label]
    if not len(truth):
        return {f"{name}@{depth}": 0.0 for depth in DEPTHS for name in ("rp", "ndcg")}
    ranked = torch.from_numpy(probabilities[has_label])
    likeliest = ranked.topk(min(max(DEPTHS), truth.shape[1])).indices.numpy()
    hits = np.take_along_axis(truth, likeliest, axis=1)
    gains = 1 / np.log2(np.arange(max(DEPTHS)) + 2)
    metrics = {}
    for depth in DEPTHS:
        num_possible = np.minimum(truth.sum(1), depth)
        right = hits[:, :depth]
        precision = right.sum(1) / num_possible
        ideal = gains.cumsum()[num_possible - 1]
        ndcg = right @ gains[: right.shape[1]] / ideal
        metrics[f"rp@{depth}"] = 100 * float(precision.mean())
        metrics[f"ndcg@{depth}"] = 100 * float(ndcg.mean())
    return metrics
