"""Scores of tags, of labels and of classes, in percent, and of what needs no training; evaluate.sh
calls it."""

import argparse
import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lev_plugins.inference.checkpoints import load_state
from lev_plugins.systems.enct5.metrics import class_metrics
from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_lines
from lev_runtime.words import percent

HALF = 0.5
Scores = dict[str, float]


class Example(NamedTuple):
    """A text and what is to be predicted of it: a class, labels, or a tag a word."""

    text: str
    labels: list[str]

    @property
    def words(self) -> list[str]:
        """What stands between spaces."""
        return self.text.split()


def read(path: Path, kind: str) -> list[Example]:
    """The lines ``labels<TAB>text`` that prepare.sh wrote."""
    between = {"tagging": " ", "multilabel": ","}.get(kind, "\0")
    rows = [line.split("\t", 1) for line in read_lines(str(path))]
    cut = ((text, (one.strip() for one in first.split(between))) for first, text in rows)
    return [Example(text, [one for one in labels if one]) for text, labels in cut]


# ---------------------------------------------------------------- scores


def tag_scores(
    found: Sequence[Sequence[str]], wanted: Sequence[Example], known: Collection[str]
) -> Scores:
    """Words right: all, those of the training text (``known``), and others; sentences all right."""
    right, counts = Counter[bool](), Counter[bool]()
    for tags, one in zip(found, wanted, strict=True):
        for word, tag, label in zip(one.words, tags, one.labels, strict=True):
            counts[word in known] += 1
            right[word in known] += tag == label
    sentences = sum(list(tags) == one.labels for tags, one in zip(found, wanted))
    return {
        "word accuracy": percent(right.total(), counts.total()),
        "known words": percent(right[True], counts[True]),
        "unknown words": percent(right[False], counts[False]),
        "sentences right": percent(sentences, len(wanted)),
    }


def label_scores(found: Sequence[Collection[str]], wanted: Sequence[Example]) -> Scores:
    """F1 over all decisions, mean of the labels' F1, and texts whose labels are all right.

    A label that neither is there nor was said has no F1; the mean is of the others.
    """
    both, said, true = Counter[str](), Counter[str](), Counter[str]()
    for labels, one in zip(found, wanted, strict=True):
        both.update(set(labels) & set(one.labels))
        said.update(set(labels))
        true.update(set(one.labels))
    each = [percent(2 * both[name], said[name] + true[name]) for name in said | true]
    exact = sum(set(labels) == set(one.labels) for labels, one in zip(found, wanted))
    return {
        "micro-F1": percent(2 * both.total(), said.total() + true.total()),
        "macro-F1": sum(each) / len(each) if each else 0.0,
        "texts right": percent(exact, len(wanted)),
    }


def class_scores(found: Sequence[str], wanted: Sequence[Example]) -> Scores:
    """Accuracy, and Matthews' correlation for any number of classes."""
    truth = [one.labels[0] for one in wanted]
    names = sorted({*found, *truth})
    said, true = ([names.index(one) for one in side] for side in (found, truth))
    scores = class_metrics(np.array(said), np.array(true), len(names))
    return {"accuracy": scores["accuracy"], "Matthews": scores["mcc"]}


def above(answers: Sequence[dict[str, Any]], least: float) -> list[list[str]]:
    """Of each text the labels whose score is above a threshold."""
    pairs = (zip(one["labels"], one["scores"], strict=True) for one in answers)
    return [[label for label, score in row if score > least] for row in pairs]


# ---------------------------------------------------------------- without training, and trained


def frequent_tags(train: Sequence[Example], capitals: bool, words: Sequence[str]) -> list[str]:
    """Each word's most frequent tag in the training text, of equals the first.

    Args:
        capitals: whether a new word gets the tag that is most frequent among words which occur
            once and begin as it does, with a capital letter or without; else the most frequent.
    """
    seen: dict[str, Counter[str]] = {}
    for one in train:
        for word, tag in zip(one.words, one.labels, strict=True):
            seen.setdefault(word, Counter())[tag] += 1
    table = {word: tags.most_common(1)[0][0] for word, tags in seen.items()}
    once = [word for word, tags in seen.items() if tags.total() == 1]
    new = {}
    for large in (True, False):
        alike = Counter(table[word] for word in once if word[:1].isupper() == large)
        new[large] = alike.most_common(1)[0][0] if capitals and alike else most_frequent(train)
    return [table.get(word, new[word[:1].isupper()]) for word in words]


def most_frequent(examples: Sequence[Example]) -> str:
    """The label that is there most often; of equals the first."""
    return Counter(label for one in examples for label in one.labels).most_common(1)[0][0]


def baselines(
    kind: str, train: Sequence[Example], test: Sequence[Example]
) -> Iterator[tuple[str, Scores]]:
    """What needs no training, and its scores."""
    usual = most_frequent(train)
    if kind == "tagging":
        known = {word for one in train for word in one.words}
        words = [word for one in test for word in one.words]
        for name, capitals in (("most frequent tag", False), ("the same, capitals", True)):
            tags = iter(frequent_tags(train, capitals, words))
            found = [[next(tags) for _ in one.words] for one in test]
            yield name, tag_scores(found, test, known)
    elif kind == "multilabel":
        scores = label_scores([[usual]] * len(test), test)
        yield f"always {usual}", _named(scores, "0.5") | _named(scores, "tuned")
    else:
        yield f"always {usual}", class_scores([usual] * len(test), test)


def trained(
    kind: str, path: Path, answers: list[dict[str, Any]], train: list[Example], test: list[Example]
) -> Scores:
    """The scores of a system; updates and parameters of its checkpoint."""
    state = load_state(str(path))
    row: Scores = {}
    if kind == "tagging":
        known = {word for one in train for word in one.words}
        row = tag_scores([one["tags"] for one in answers], test, known)
    elif kind == "multilabel":
        tuned = float(state["task_state"].get("threshold", HALF))
        for name, least in (("0.5", HALF), ("tuned", tuned)):
            row |= _named(label_scores(above(answers, least), test), name)
        row["threshold"] = tuned
    else:
        row = class_scores([one["label"] for one in answers], test)
    row["updates"] = int(state["optimizer_history"][-1]["num_updates"])
    return {**row, "parameters": sum(one.numel() for one in state["model"].values())}


def _named(scores: Scores, threshold: str) -> Scores:
    return {f"{metric}, {threshold}": value for metric, value in scores.items()}


def main() -> None:
    """Score and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("work", type=Path, help="folder of prepare.sh and train.sh")
    parser.add_argument("systems", nargs="*", help="folders in WORK")
    args = parser.parse_args()
    work = args.work
    (kind,) = read_lines(str(work / "kind"))
    train, test = (read(work / "text" / f"{part}.tsv", kind) for part in ("train", "test"))
    rows = dict(baselines(kind, train, test))
    for name in args.systems:
        answers = [json.loads(one) for one in read_lines(str(work / "output" / f"{name}.jsonl"))]
        rows[name] = trained(kind, work / name / "checkpoint_best.pt", answers, train, test)
    (work / "output" / "scores.json").write_text(json.dumps({"systems": rows}, indent=1) + "\n")
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    print(f"## {kind}: {len(test):,} test examples\n\n| | " + " | ".join(columns) + " |")
    print("|" + "---|" * (len(columns) + 1))
    for name, row in rows.items():
        cells = [row.get(column, "") for column in columns]
        shown = [f"{one:.2f}" if isinstance(one, float) else str(one) for one in cells]
        print(f"| {name} | " + " | ".join(shown) + " |")


if __name__ == "__main__":
    run_cli(main)
