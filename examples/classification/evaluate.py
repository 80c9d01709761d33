"""Scores of tags, labels or classes, in percent, and of what needs no training; evaluate.sh calls
it."""

import json
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef
from sklearn.preprocessing import MultiLabelBinarizer

from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_lines

SEPARATORS = {"tagging": " ", "multilabel": ","}
Rows = list[list[str]]


def read(path: Path, kind: str) -> tuple[Rows, Rows]:
    """Returns words and labels of the lines ``labels<TAB>text`` that prepare.sh wrote."""
    cells = [line.split("\t", 1) for line in read_lines(str(path))]
    labels = [cell.split(SEPARATORS.get(kind, "\0")) for cell, _ in cells]
    return [text.split() for _, text in cells], [
        [*filter(None, map(str.strip, row))] for row in labels
    ]


def baseline(kind: str, train: tuple[Rows, Rows], texts: Rows) -> Rows:
    """Returns the most frequent label; of tags that of each word.

    A new word has that of the words which occur once and begin as it does, with a capital or not.
    """
    ((usual, _),) = Counter(chain(*train[1])).most_common(1)
    if kind != "tagging":
        return [[usual] for _ in texts]
    counts = defaultdict[str | bool, Counter[str]](Counter)
    for word, tag in zip(chain(*train[0]), chain(*train[1]), strict=True):
        counts[word][tag] += 1
    for word, tags in list(counts.items()):
        if tags.total() == 1:
            counts[word[:1].isupper()] += tags
    best = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    return [[best.get(word, best.get(word[:1].isupper(), usual)) for word in row] for row in texts]


def scores(kind: str, predicted: Rows, labels: Rows, is_known: np.ndarray) -> dict[str, float]:
    """Returns the metrics of a kind; ``is_known``: of each word, whether training has it."""
    if kind == "multilabel":
        binarizer = MultiLabelBinarizer().fit(predicted + labels)
        truth, answers = binarizer.transform(labels), binarizer.transform(predicted)
        values = {
            "micro-F1": f1_score(truth, answers, average="micro"),
            "macro-F1": f1_score(truth, answers, average="macro"),
            "texts right": accuracy_score(truth, answers),
        }
    elif kind == "classification":
        values = {
            "accuracy": accuracy_score(labels, predicted),
            "Matthews": matthews_corrcoef([*chain(*labels)], [*chain(*predicted)]),
        }
    else:
        is_right = np.array([*chain(*predicted)]) == np.array([*chain(*labels)])
        values = {
            "word accuracy": is_right.mean(),
            "known words": is_right[is_known].mean(),
            "unknown words": is_right[~is_known].mean(),
            "sentences right": np.mean(list(map(list.__eq__, predicted, labels))),
        }
    return {name: round(100 * float(value), 2) for name, value in values.items()}


def main() -> None:
    """Scores and prints."""
    parser = Parser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder of prepare.sh and train.sh")
    parser.add_argument("systems", nargs="*", help="folders in WORK")
    args = parser.parse_args()
    (kind,) = read_lines(str(args.work / "kind"))
    train = read(args.work / "text" / "train.tsv", kind)
    texts, labels = read(args.work / "text" / "test.tsv", kind)
    is_known = np.isin([*chain(*texts)], [*chain(*train[0])])
    rows = {"baseline": scores(kind, baseline(kind, train, texts), labels, is_known)}
    for name in args.systems:
        lines = map(json.loads, read_lines(str(args.work / "output" / f"{name}.jsonl")))
        answers = [line.get("tags", line.get("labels", [line.get("label")])) for line in lines]
        rows[name] = scores(kind, answers, labels, is_known)
    written = json.dumps({"systems": rows}, indent=1)
    (args.work / "output" / "scores.json").write_text(f"{written}\n")
    print(f"## {kind}: {len(texts):,} test examples\n{written}")


if __name__ == "__main__":
    run_cli(main)
