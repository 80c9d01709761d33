"""What a set scores without EncT5; the log of a training begins with it."""

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from .metrics import DEFAULT_THRESHOLD
from .problem_types import ProblemType

#: labels × examples of training, above which fitting would take minutes
MAX_LABELS_TIMES_EXAMPLES = 3_000_000

#: subwords and labels of the examples of a set
Split = tuple[Sequence[Tensor], Sequence[Tensor]]


def majority_score(problem_type: ProblemType, label: int, labels: Sequence[Tensor]) -> float:
    """Accuracy, or micro-F1, in percent, of one label for every text or word."""
    ids = torch.cat([labels[index] for index in range(len(labels))])
    num_correct = int((ids == label).sum())
    num_true = len(ids)
    num_predicted = len(labels) if problem_type.is_multilabel else num_true
    return 200 * num_correct / max(num_predicted + num_true, 1)


def linear_score(
    problem_type: ProblemType, num_labels: int, train: Split, valid: Split
) -> float | None:
    """Accuracy, or micro-F1, in percent, of a logistic regression for each label on the TF-IDF of
    subwords; None where fitting would take long or training has one label alone.

    Args:
        num_labels: labels or classes.
    """
    train_pieces, train_labels = train
    num_present = len(torch.cat(list(train_labels)).unique())
    if num_present < 2 or num_labels * len(train_pieces) > MAX_LABELS_TIMES_EXAMPLES:
        return None
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.multiclass import OneVsRestClassifier

    tf_idf = TfidfVectorizer(analyzer=Tensor.tolist, sublinear_tf=True)
    classifier = OneVsRestClassifier(SGDClassifier(loss="log_loss", random_state=1))
    train_targets = problem_type.targets(list(train_labels), num_labels).numpy()
    valid_targets = problem_type.targets(list(valid[1]), num_labels).numpy()
    with warnings.catch_warnings():  # of labels that no text has, or every one
        warnings.simplefilter("ignore")
        classifier.fit(tf_idf.fit_transform(train_pieces), train_targets)
    probabilities = classifier.predict_proba(tf_idf.transform(valid[0]))
    if problem_type.is_multilabel:
        holds = probabilities > DEFAULT_THRESHOLD
        return 100 * float(f1_score(valid_targets, holds, average="micro", zero_division=0))
    classes = classifier.classes_[np.argmax(probabilities, axis=1)]
    return 100 * float(accuracy_score(valid_targets, classes))
