"""The linear model that users would take for texts with labels, on the lines of EncT5.

    python benchmarks/label_peers.py WORK [--json FILE]

WORK is the folder of ``examples/classification/prepare.sh multilabel DATA WORK``. scikit-learn
(pip install -r benchmarks/requirements-peers.txt) counts words and pairs of words, weighs them by
TF-IDF, and fits a logistic regression for each label. How much that is regularized, and the
threshold above which a label holds, are chosen on the validation set; the test set is scored once.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT, ROOT / "examples" / "classification"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import texts  # noqa: E402
from scores import label_scores  # noqa: E402

from benchmarks.machine import machine  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.systems.enct5.problem_types import ProblemType  # noqa: E402

NAME = "TF-IDF and logistic regression"
STRENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)  # scikit-learn's C
THRESHOLDS = [step / 100 for step in range(5, 96)]
HALF = 0.5


def main(argv: Sequence[str] | None = None) -> None:
    """Fit, choose, score, print."""
    args = _arguments(argv)
    began = time.process_time()
    parts = [
        texts.read(args.work / "text" / f"{part}.tsv", ProblemType.MULTILABEL)
        for part in ("train", "valid", "test")
    ]
    labels, chances, chosen = fitted(*parts)
    test = parts[2]
    scores: dict[str, Any] = {}
    for name, threshold in (("0.5", HALF), ("tuned", chosen["threshold"])):
        found = label_scores(above(labels, chances, threshold), test)
        scores |= {f"{metric}, {name}": value for metric, value in found.items()}
    row = {**scores, **chosen, "processor hours": (time.process_time() - began) / 3600}
    print(f"{NAME}: {len(test):,} test examples, {machine('cpu')}")
    for name, value in row.items():
        print(f"{name:20} {value:,.4g}")
    if args.json:
        made = json.dumps({"systems": {NAME: row}}, indent=1) + "\n"
        Path(args.json).write_text(made, encoding="utf-8")


def fitted(
    train: Sequence[texts.Example], valid: Sequence[texts.Example], test: Sequence[texts.Example]
) -> tuple[list[str], Any, dict[str, float]]:
    """The labels, their probabilities for each test text, and what was chosen on ``valid``."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    seen = words.fit_transform(one.text for one in train)
    new = [words.transform(one.text for one in part) for part in (valid, test)]
    names = MultiLabelBinarizer()
    truth = names.fit_transform([one.labels for one in train])
    labels = [str(name) for name in names.classes_]
    tried = []
    for strength in STRENGTHS:
        model = OneVsRestClassifier(LogisticRegression(C=strength, solver="liblinear"))
        model.fit(seen, truth)
        on_valid, on_test = (model.predict_proba(part) for part in new)
        for threshold in THRESHOLDS:
            score = label_scores(above(labels, on_valid, threshold), valid)["micro-F1"]
            tried.append((score, threshold, strength, on_test))
    best, threshold, strength, chances = max(tried, key=lambda one: one[:3])
    chosen = {"micro-F1, validation": best, "threshold": threshold, "C": strength}
    return labels, chances, {**chosen, "parameters": seen.shape[1] * len(labels) + len(labels)}


def above(labels: Sequence[str], chances: Any, threshold: float) -> list[list[str]]:
    """Of each text the labels above a threshold."""
    return [
        [labels[i] for i in chosen.nonzero()[0]] for chosen in (row > threshold for row in chances)
    ]


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder of prepare.sh multilabel")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to FILE too")
    args = parser.parse_args(argv)
    if not (args.work / "text" / "valid.tsv").is_file():
        raise UserError(
            f"{args.work} has no text: examples/classification/prepare.sh multilabel makes it"
        )
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise UserError(
            "scikit-learn is not installed: pip install -r benchmarks/requirements-peers.txt"
        ) from error
    return args


if __name__ == "__main__":
    run_cli(main)
