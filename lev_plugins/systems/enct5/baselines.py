"""What a set scores without EncT5; the log of a training begins with it."""

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from .metrics import statistics, summary
from .problem_types import ProblemType

#: labels × examples of training, above which fitting would take minutes
MOST = 3_000_000


def usual_score(kind: ProblemType, usual: int, labels: Sequence[Tensor]) -> float:
    """Accuracy, or micro-F1, in percent, of one label that is said of every text or word."""
    ids = torch.cat([labels[i] for i in range(len(labels))])
    said = len(labels) if kind.many else len(ids)
    return 200 * int((ids == usual).sum()) / max(said + len(ids), 1)


def linear_score(
    kind: ProblemType, number: int, *splits: tuple[Sequence[Tensor], Sequence[Tensor]]
) -> float | None:
    """The same of a logistic regression for each label on the TF-IDF of subwords, or None where
    scikit-learn is not installed, fitting would take long, or there is one label alone.

    Args:
        number: of labels or classes.
        splits: subwords and labels of the examples of training, and of those that are scored.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import SGDClassifier
        from sklearn.multiclass import OneVsRestClassifier
    except ImportError:
        return None
    alone = len(torch.cat([*splits[0][1]]).unique()) < 2
    if alone or number * len(splits[0][0]) > MOST:
        return None
    texts, ids = ([[one[i] for i in range(len(one))] for one in side] for side in zip(*splits))
    train, valid = ([one.tolist() for one in side] for side in texts)
    fitted, truth = (kind.targets(side, number) for side in ids)
    weights = TfidfVectorizer(analyzer=list, sublinear_tf=True)
    model = OneVsRestClassifier(SGDClassifier(loss="log_loss", random_state=1))
    with warnings.catch_warnings():  # of labels that no text has, or every one
        warnings.simplefilter("ignore")
        model.fit(weights.fit_transform(train), fitted.numpy())
    scores = torch.zeros(len(valid), number)
    scores[:, model.classes_] = torch.tensor(model.predict_proba(weights.transform(valid))).float()
    return next(iter(summary(kind, statistics(kind, scores, truth)).values()))
