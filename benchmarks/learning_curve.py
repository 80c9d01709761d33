"""BLEU against processor time of training: fairseq's LevT, ours and the teacher, as a picture.

    bash examples/translation/prepare.sh CORPUS DATA
    python benchmarks/learning_curve.py DATA --updates 125,250,500,1000 --png curve.png

Each point is a training of its own, whose learning rate falls to zero at its last update. stock and
ours are trained and measured by levt_learning.py (γ and threshold chosen on the validation set);
teacher is fairseq's transformer with beam search. What is there already is not done again.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.commands import run, spent  # noqa: E402
from examples.analysis.plotting import png, require_matplotlib  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.io.saving import atomic_save  # noqa: E402

SYSTEMS = ("stock", "ours", "teacher")
BLEU = re.compile(r"^Generate test with beam=5: BLEU = ([\d.]+)", re.M)


class Point(NamedTuple):
    """A training: its updates, its processor time in seconds, and BLEU on the test set."""

    updates: int
    seconds: float
    bleu: float


def edit_model(name: str, updates: int, args: argparse.Namespace) -> Point:
    """A training of stock or ours."""
    command = [sys.executable, str(ROOT / "benchmarks/levt_learning.py"), args.data]
    command += ["--updates", str(updates), "--seeds", str(args.seed), "--only", name]
    run(command, Path(args.data) / f"learning-{updates}.log")
    kept = Path(args.data) / f"learning-{updates}" / f"{name}.{args.seed}" / "figures.json"
    found = json.loads(kept.read_text())
    return Point(updates, found["seconds"], found["tuned"])


def teacher(updates: int, args: argparse.Namespace) -> Point:
    """A training of fairseq's transformer, and its beam search."""
    folder = Path(args.data) / f"learning-{updates}" / f"teacher.{args.seed}"
    kept = folder / "figures.json"
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        train = ["bash", str(ROOT / "examples/translation/train.sh"), args.data, "ar"]
        train += ["--save-dir", str(folder), "--disable-validation"]
        before = spent()
        run(train, folder / "train.log", UPDATES=str(updates), SEED=str(args.seed))
        seconds = spent() - before
        # with our loading of checkpoints: fairseq's own unpickles anything, which torch refuses
        generate = [
            "fairseq-generate",
            f"{args.data}/data",
            "--user-dir",
            str(ROOT / "lev_plugins"),
        ]
        generate += ["--gen-subset", "test"]
        generate += ["--path", str(folder / "checkpoint_last.pt"), "--beam", "5"]
        generate += ["--batch-size", "64", "--scoring", "sacrebleu", "--bpe", "sentencepiece"]
        generate += ["--sentencepiece-model", f"{args.data}/spm.model"]
        said = run(generate, folder / "generate.log")
        found = BLEU.search(said)
        if not found:
            raise UserError(f"fairseq-generate gave no BLEU: see {folder}/generate.log")
        kept.write_text(json.dumps({"seconds": seconds, "bleu": float(found[1])}) + "\n")
    one = json.loads(kept.read_text())
    return Point(updates, one["seconds"], one["bleu"])


def table(curves: dict[str, list[Point]]) -> str:
    """A line for each training."""
    lines = [f"{'':8}{'updates':>9}{'processor, s':>14}{'BLEU':>8}"]
    for name, points in curves.items():
        lines += [f"{name:8}{one.updates:9,}{one.seconds:14.0f}{one.bleu:8.2f}" for one in points]
    return "\n".join(lines)


def picture(curves: dict[str, list[Point]]) -> bytes:
    """The curves as a PNG."""

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        for name, points in curves.items():
            seconds, bleu = [one.seconds for one in points], [one.bleu for one in points]
            axes.plot(seconds, bleu, marker="o", label=name)
        axes.set_xlabel("training, seconds of one processor core")
        axes.set_ylabel("BLEU, test")
        axes.legend()

    return png(paint, {}, figsize=(6, 4), dpi=120, layout="constrained")


def main(argv: Sequence[str] | None = None) -> None:
    """Train and measure what is not there yet, print the table, draw the curves."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("data", help="folder that examples/translation/prepare.sh has made")
    made.add_argument("--updates", default="125,250,500,1000", help="default %(default)s")
    made.add_argument("--seed", type=int, default=1, help="default 1")
    made.add_argument("--systems", default=",".join(SYSTEMS), help="default %(default)s")
    made.add_argument("--png", metavar="FILE", help="the picture")
    args = made.parse_args(argv)
    names = args.systems.split(",")
    unknown = [name for name in names if name not in SYSTEMS]
    sizes = args.updates.split(",")
    if unknown or not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise UserError(
            f"--systems {args.systems} --updates {args.updates}: give some of "
            f"{', '.join(SYSTEMS)}, and numbers with commas between them"
        )
    if args.png:
        require_matplotlib()
    curves: dict[str, list[Point]] = {name: [] for name in names}
    for updates in map(int, sizes):
        for name in names:
            one = teacher(updates, args) if name == "teacher" else edit_model(name, updates, args)
            curves[name].append(one)
            said = f"{one.updates:,} updates, {one.seconds:.0f} s, BLEU {one.bleu:.2f}"
            print(f"{name}: {said}", flush=True)
    print(table(curves))
    if args.png:
        with atomic_save(args.png) as file:
            file.write(picture(curves))
        print(f"written to {args.png}")


if __name__ == "__main__":
    run_cli(main)
