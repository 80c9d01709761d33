"""Scores what needs no training, and the trained models, on the test set; evaluate.sh calls it.

WORK is the folder of prepare.sh and train.sh. The models get the text alone, through
``lev-predict``; the labels are looked at afterwards.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import texts
from scores import FrequentTags, Scores, class_scores, label_scores, most_frequent, tag_scores
from texts import Example

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.inference.checkpoints import load_state
from lev_plugins.io.text_files import read_lines
from lev_plugins.systems.enct5.problem_types import ProblemType

HALF = 0.5


class Checkpoint(NamedTuple):
    """What a trained system is, besides its answers."""

    path: Path
    parameters: int
    updates: int
    threshold: float

    @classmethod
    def read(cls, path: Path) -> "Checkpoint":
        """Counts parameters and updates of a checkpoint."""
        state = load_state(str(path))
        size = sum(one.numel() for one in state["model"].values())
        updates = int(state["optimizer_history"][-1]["num_updates"])
        return cls(path, size, updates, float(state["task_state"].get("threshold", 0.5)))


def main(argv: Sequence[str] | None = None) -> None:
    """Predict, score, print."""
    args = _arguments(argv)
    kind = ProblemType("".join(read_lines(str(args.work / "kind"))))
    train, test = (
        texts.read(args.work / "text" / f"{part}.tsv", kind) for part in ("train", "test")
    )
    found = {"train": train, "test": test}
    rows = baselines(kind, train, test)
    output = args.work / "output"
    output.mkdir(exist_ok=True)
    for system, path in trained(args).items():
        checkpoint = Checkpoint.read(path)
        rows[system] = scores_of(kind, system, checkpoint, found, output)
    sizes = {"examples": len(test), "words": sum(len(one.words) for one in test)}
    numbers = {"kind": kind.value, "test": sizes, "systems": rows}
    text = json.dumps(numbers, indent=1, ensure_ascii=False) + "\n"
    (output / "scores.json").write_text(text, encoding="utf-8")
    words = f", {sizes['words']:,} words" if kind is ProblemType.TAGGING else ""
    print(f"\n## {kind.value}: {sizes['examples']:,} test examples{words}\n")
    print(rendered(rows))


def trained(args: argparse.Namespace) -> dict[str, Path]:
    """The checkpoint of every system that was trained, or that is wanted.

    Raises:
        UserError: there is none.
    """
    name = f"checkpoint_{args.checkpoint}.pt"
    found = {path.parent.name: path for path in sorted(args.work.glob(f"*/{name}"))}
    if not found and not args.systems:
        raise UserError(
            f"{args.work}: nothing is trained there; examples/classification/train.sh does it"
        )
    for system in args.systems or ():
        if system not in found:
            raise UserError(f"--systems {system}: there is no {args.work / system / name}")
    return {system: found[system] for system in args.systems or found}


# ---------------------------------------------------------------- answers


def predicted(checkpoint: Path, test: Sequence[Example], flags: list[str], path: Path) -> list[Any]:
    """What lev-predict says of each text; kept in a file that is younger than the checkpoint."""
    if not path.is_file() or path.stat().st_mtime <= checkpoint.stat().st_mtime:
        command = [sys.executable, "-m", "lev_plugins", "predict", "--path", str(checkpoint)]
        command += ["--output", str(path), "--format", "jsonl", *flags]
        print(f"predicting with {checkpoint} …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            given = Path(folder, "texts")
            text = "".join(one.text + "\n" for one in test)
            given.write_text(text, encoding="utf-8", newline="\n")
            command += ["--input", str(given)]
            ended = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        if ended.returncode != 0:
            raise UserError(f"lev-predict failed: {ended.stderr.strip()[-300:]!r}")
    answers = [json.loads(line) for line in read_lines(str(path))]
    if len(answers) != len(test):
        raise UserError(
            f"{path}: {len(answers)} answers for {len(test)} lines of the test set; delete it"
        )
    return answers


def scores_of(
    kind: ProblemType,
    system: str,
    checkpoint: Checkpoint,
    found: dict[str, list[Example]],
    output: Path,
) -> Scores:
    """All numbers of a system."""
    test = found["test"]
    row: Scores = {}
    if kind.many:
        thresholds = {"0.5": HALF, "tuned": checkpoint.threshold}
        lowest = min(thresholds.values())
        flags = ["--threshold", str(lowest)]
        answers = predicted(checkpoint.path, test, flags, output / f"{system}.jsonl")
        for name, least in thresholds.items():
            # scores have six digits: what is just above the lowest is listed, and could look equal
            labels = [one["labels"] if least == lowest else above(one, least) for one in answers]
            row |= _named(label_scores(labels, test), name)
        row["threshold"] = checkpoint.threshold
    else:
        answers = predicted(checkpoint.path, test, [], output / f"{system}.jsonl")
        if kind is ProblemType.TAGGING:
            known = {word for one in found["train"] for word in one.words}
            row = tag_scores([one["tags"] for one in answers], test, known)
        else:
            row = class_scores([one["label"] for one in answers], test)
    return {**row, "updates": checkpoint.updates, "parameters": checkpoint.parameters}


def above(answer: dict[str, Any], least: float) -> list[str]:
    """The labels whose score is above a threshold."""
    scored = zip(answer["labels"], answer["scores"], strict=True)
    return [label for label, score in scored if score > least]


def _named(scores: Scores, threshold: str) -> Scores:
    return {f"{metric}, {threshold}": value for metric, value in scores.items()}


def baselines(
    kind: ProblemType, train: Sequence[Example], test: Sequence[Example]
) -> dict[str, Scores]:
    """The scores of what needs no training."""
    if kind is ProblemType.TAGGING:
        known = {word for one in train for word in one.words}
        guesses = {
            "most frequent tag": FrequentTags(train),
            "the same, capitals": FrequentTags(train, capitals=True),
        }
        return {
            name: tag_scores([guess(one.words) for one in test], test, known)
            for name, guess in guesses.items()
        }
    usual = most_frequent(train)
    if kind is ProblemType.CLASSIFICATION:
        return {f"always {usual}": class_scores([usual] * len(test), test)}
    scores = label_scores([[usual]] * len(test), test)
    return {f"always {usual}": _named(scores, "0.5") | _named(scores, "tuned")}


# ---------------------------------------------------------------- the report


def rendered(rows: dict[str, Scores]) -> str:
    """A table in Markdown; what a row does not have stays empty."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = ["| | " + " | ".join(columns) + " |", "|" + "---|" * (len(columns) + 1)]
    for system, row in rows.items():
        cells = [_cell(row.get(name)) for name in columns]
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder of prepare.sh and train.sh")
    parser.add_argument("--systems", nargs="+", help="folders in WORK (default: all)")
    parser.add_argument(
        "--checkpoint", choices=("best", "last"), default="best", help="which one (default: best)"
    )
    args = parser.parse_args(argv)
    if not (args.work / "data").is_dir() or not (args.work / "kind").is_file():
        raise UserError(f"{args.work} has no data: examples/classification/prepare.sh makes them")
    return args


if __name__ == "__main__":
    run_cli(main)
