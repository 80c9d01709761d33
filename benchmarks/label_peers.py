"""What users would take instead of EncT5 for texts with labels, on the same lines.

    python benchmarks/label_peers.py WORK [--json FILE]

WORK is the folder of ``examples/classification/prepare.sh multilabel DATA WORK``. scikit-learn
(pip install -r benchmarks/requirements-peers.txt) counts words and pairs of words, weighs them by
TF-IDF, and fits a logistic regression for each label. How much is regularized, and the threshold
above which a label holds, are chosen on the validation set; the test set is scored once.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import processor

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples" / "classification"))

from evaluate import Example, label_scores, read  # noqa: E402

from lev_runtime.io.commands import run_cli  # noqa: E402

STRENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)  # scikit-learn's C
THRESHOLDS = [step / 100 for step in range(5, 96)]
Parts = Sequence[Sequence[Example]]  # train, valid and test


def fitted(labels: Sequence[str], parts: Parts) -> tuple[Any, dict[str, float]]:
    """The labels' probabilities for each test text, and what was chosen on valid."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    seen = words.fit_transform(one.text for one in parts[0])
    new = [words.transform(one.text for one in part) for part in parts[1:]]
    tried = []
    for strength in STRENGTHS:
        model = OneVsRestClassifier(LogisticRegression(C=strength, solver="liblinear"))
        model.fit(seen, truth_of(labels, parts[0]))
        on_valid, on_test = (model.predict_proba(part) for part in new)
        tried.append((*best_threshold(labels, on_valid, parts[1]), strength, on_test))
    best, threshold, strength, chances = max(tried, key=lambda one: one[:3])
    size = (seen.shape[1] + 1) * len(labels)
    chosen = {"micro-F1, validation": best, "threshold": threshold, "C": strength}
    return chances, {**chosen, "parameters": size}


def truth_of(labels: Sequence[str], examples: Sequence[Example]) -> np.ndarray:
    """Whether each label holds for each text."""
    return np.array([[name in one.labels for name in labels] for one in examples])


def best_threshold(
    labels: Sequence[str], chances: Any, examples: Sequence[Example]
) -> tuple[float, float]:
    """The highest micro-F1 that any threshold has, and the threshold."""
    return max(
        (label_scores(above(labels, chances, one), examples)["micro-F1"], one) for one in THRESHOLDS
    )


def above(labels: Sequence[str], chances: Any, threshold: float) -> list[list[str]]:
    """Of each text the labels above a threshold."""
    return [[labels[i] for i in (row > threshold).nonzero()[0]] for row in chances]


def main(argv: Sequence[str] | None = None) -> None:
    """Fit, choose, score, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("work", type=Path, help="folder of prepare.sh multilabel")
    add("--json", type=Path, metavar="FILE", help="write the numbers to FILE too")
    args = parser.parse_args(argv)
    began = time.process_time()
    parts = [
        read(args.work / "text" / f"{part}.tsv", "multilabel")
        for part in ("train", "valid", "test")
    ]
    labels = sorted({label for one in parts[0] for label in one.labels})
    chances, chosen = fitted(labels, parts)
    scores = label_scores(above(labels, chances, chosen["threshold"]), parts[2])
    row = {f"{metric}, tuned": value for metric, value in scores.items()}
    row |= {**chosen, "processor hours": (time.process_time() - began) / 3600}
    name = "TF-IDF and logistic regression"
    print(f"{name}: {len(parts[2]):,} test examples, {processor()}")
    print("\n".join(f"{metric:20} {value:,.4g}" for metric, value in row.items()))
    if args.json:
        args.json.write_text(json.dumps({"systems": {name: row}}, indent=1) + "\n")


if __name__ == "__main__":
    run_cli(main)
