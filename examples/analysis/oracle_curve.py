"""Scores by the number of iterations, with and without the help of an oracle (paper, Fig. 5).

    python examples/analysis/oracle_curve.py DATA --path checkpoint_best.pt --draft-lang mt \\
        --csv curve.csv --png curve.png

Each mode is decoded once: the output for a limit of t iterations is the state after iteration t,
because decoding runs exactly as many iterations as it may (Algorithm 2). A table goes to stdout.
"""

import argparse
import csv
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from oracle import ORACLES, with_oracle  # beside this file
from plotting import png, require_matplotlib, short_line

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.inference.corpus import Corpus, load, read_corpus, scorer, text_of
from lev_plugins.io.output import standard_output, whole_file
from lev_plugins.io.progress import progress
from lev_plugins.io.text_files import SUBWORDS
from lev_plugins.metrics.corpus import METRICS, Metric, make_metric
from lev_plugins.systems.levenshtein.decoding.policy import EnsemblePolicy, is_edit_model

if TYPE_CHECKING:
    from lev_plugins.systems.levenshtein.task import TranslationEditTask

NO_EDIT_BASELINE = "no-edit baseline"
COLUMNS = ("mode", "max_iter", "metric", "score", "mean_iterations")
# colours of Okabe and Ito; lines and markers say the same in grey, and where curves coincide
STYLES: dict[str, dict[str, Any]] = {
    "none": {"color": "#000000", "linestyle": "-", "marker": "o", "markersize": 4},
    "deletion": {
        "color": "#0072b2",
        "linestyle": "--",
        "marker": "s",
        "markersize": 9,
        "markerfacecolor": "none",
    },
    "deletion+placeholder": {"color": "#d55e00", "linestyle": "-.", "marker": "^", "markersize": 7},
}
LABELS = {
    "none": "no oracle",
    "deletion": "oracle deletion",
    "deletion+placeholder": "oracle deletion + placeholders",
}


@dataclass(frozen=True)
class Point:
    """One point of the curve: a mode, or the no-edit baseline, under a limit of iterations."""

    mode: str
    max_iter: int
    score: float
    mean_iterations: float


@dataclass(frozen=True)
class Decoded:
    """A sentence: its outputs under limits of 1, 2, … iterations, and how many it took."""

    outputs: list[str]
    steps: int


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    _check(args)
    metric = make_metric(args.metric)
    with ExitStack() as stack:
        # Opened first: a folder that cannot be written is told before the model loads.
        outputs = {
            kind: stack.enter_context(whole_file(path))
            for kind in ("csv", "png")
            if (path := getattr(args, kind)) is not None
        }
        task, models = load(args)
        corpus = read_corpus(task, models, args)
        points = list(curve(task, models, corpus, metric, args))
        if "csv" in outputs:
            write_csv(points, metric.name, outputs["csv"])
        if "png" in outputs:
            title = args.title or f"{args.gen_subset}, {len(corpus.references)} sentences"
            outputs["png"].buffer.write(draw(points, metric, title))
    drafts = f"drafts {args.draft_lang}" if corpus.drafts is not None else "no drafts"
    out = standard_output()
    out.write(f"{args.gen_subset}: {len(corpus.references)} sentences, {drafts}\n")
    out.write(render_table(points, metric))
    for path in (args.csv, args.png):
        if path is not None:
            print(f"written to {path}", file=sys.stderr)


# ---------------------------------------------------------------- the curve


def curve(
    task: "TranslationEditTask",
    models: Sequence[Any],
    corpus: Corpus,
    metric: Metric,
    args: argparse.Namespace,
) -> Iterator[Point]:
    """The points of every mode, and of the no-edit baseline where there are drafts."""
    references = corpus.references
    score = scorer(metric)
    if corpus.drafts is not None:
        yield Point(NO_EDIT_BASELINE, 0, score(corpus.drafts, references), 0.0)
    for mode in ORACLES:
        decoded = dict(decode(task, models, corpus, mode, args))
        for limit in range(1, args.max_iter + 1):
            outputs = {number: one.outputs[limit - 1] for number, one in decoded.items()}
            iterations = fmean(min(one.steps, limit) for one in decoded.values())
            yield Point(mode, limit, score(outputs, references), iterations)
        print(f"{mode}: {len(decoded)} sentences decoded", file=sys.stderr)


def decode(
    task: "TranslationEditTask",
    models: Sequence[Any],
    corpus: Corpus,
    mode: str,
    args: argparse.Namespace,
) -> Iterator[tuple[int, Decoded]]:
    """Every sentence's number, with its outputs under all limits up to ``args.max_iter``."""
    flags = argparse.Namespace(
        iter_decode_max_iter=args.max_iter,
        iter_decode_eos_penalty=args.iter_decode_eos_penalty,
        max_len_a=args.max_len_a,
        max_len_b=args.max_len_b,
        retain_iter_history=True,
    )
    generator = task.build_generator(models, flags)
    for model in models:
        if not is_edit_model(model):
            raise UserError(f"{type(model).__name__} is no edit model")
    policy = models[0] if len(models) == 1 else EnsemblePolicy(models)
    text = text_of(task, args.remove_bpe)
    for batch in progress(corpus.batches, f"batches, {mode}", len(corpus.batches)):
        helped = with_oracle(policy, mode, batch["target"], task.tgt_dict.pad())
        found = generator.generate([helped], batch)
        for number, (hypothesis, *_) in zip(batch["id"].tolist(), found, strict=True):
            states = states_by_limit(hypothesis, args.max_iter)
            yield number, Decoded([text(one, False) for one in states], hypothesis["steps"])


def states_by_limit(hypothesis: dict[str, Any], most: int) -> list[Any]:
    """The tokens that decoding with a limit of 1 … ``most`` iterations ends with.

    Args:
        hypothesis: decoded with its history and a limit of ``most``.
    """
    states = [entry["tokens"] for entry in hypothesis["history"] if entry["phase"] == "token"]
    return [*states, *[hypothesis["tokens"]] * (most - len(states))]


# ---------------------------------------------------------------- what comes out


def write_csv(points: Iterable[Point], metric: str, stream: Any) -> None:
    """One line a point under the names of :data:`COLUMNS`."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in points:
        numbers = f"{one.score:.4f}", f"{one.mean_iterations:.4f}"
        writer.writerow([one.mode, one.max_iter, metric, *numbers])


def render_table(points: Sequence[Point], metric: Metric) -> str:
    """A line for each limit, with score and mean iterations of every mode."""
    lines = [f"{_name(metric)}: {metric.signature()}", ""]
    found = {(one.mode, one.max_iter): one for one in points}
    width = max(map(len, ORACLES)) + 2
    lines.append("T_max" + "".join(f"{mode:>{width}}" for mode in ORACLES))
    lines.append(" " * 5 + f"{'score iterations':>{width}}" * len(ORACLES))
    for limit in range(1, max(one.max_iter for one in points) + 1):
        row = [found[mode, limit] for mode in ORACLES]
        cells = (f"{one.score:.2f} {one.mean_iterations:>10.2f}" for one in row)
        lines.append(f"{limit:>5}" + "".join(f"{cell:>{width}}" for cell in cells))
    if (NO_EDIT_BASELINE, 0) in found:
        lines.append(f"no-edit baseline (T_max = 0): {found[NO_EDIT_BASELINE, 0].score:.2f}")
    return "\n".join(lines) + "\n"


def _name(metric: Metric) -> str:
    better = "higher" if metric.higher_is_better else "lower"
    return f"{metric.name} ({better} is better)"


def draw(points: Sequence[Point], metric: Metric, title: str) -> bytes:
    """The curve as a PNG, legible without colours.

    Raises:
        UserError: matplotlib is not installed.
    """

    def paint(figure: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = figure.subplots()
        for mode in ORACLES:
            of_mode = [one for one in points if one.mode == mode]
            limits, scores = [one.max_iter for one in of_mode], [one.score for one in of_mode]
            axes.plot(limits, scores, label=LABELS[mode], **STYLES[mode])
        for one in points:
            if one.mode == NO_EDIT_BASELINE:
                axes.axhline(one.score, color="#808080", linestyle=":", label=NO_EDIT_BASELINE)
        axes.set(xlabel="most iterations, $T_{max}$", ylabel=_name(metric))
        axes.xaxis.label.set_parse_math(True)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_title(short_line(title))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.15))

    style = {"font.size": 10, "axes.titlelocation": "left"}
    return png(paint, style, figsize=(6.4, 4.8), layout="constrained", dpi=150)


# ---------------------------------------------------------------- options


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description="Score by the number of iterations: without help, with an oracle's deletions, "
        "and with its deletions and numbers of placeholders.",
    )
    add = parser.add_argument
    add("data", metavar="DATA", help="folder that preprocess wrote")
    add("--path", required=True, metavar="FILES", help="checkpoint, or several joined by colons")
    add("--gen-subset", default="test", metavar="SPLIT", help="split to decode (default: test)")
    add("--source-lang", "-s", metavar="LANG", help="default: as the data folder says")
    add("--target-lang", "-t", metavar="LANG", help="default: as the data folder says")
    add("--draft-lang", metavar="LANG", help="suffix of the drafts (default: from nothing)")
    add("--metric", default="bleu", metavar="NAME", help=f"of {', '.join(METRICS)} (default: bleu)")
    add(
        "--references",
        metavar="FILE",
        help="references as text, to score against (default: those in DATA, their words as the "
        "dictionary knows them)",
    )
    add("--remove-bpe", choices=sorted(SUBWORDS), help="join subwords or characters to words")
    add("--csv", metavar="FILE", help="write all points: " + ", ".join(COLUMNS))
    add("--png", metavar="FILE", help="draw the curve")
    add("--title", metavar="TEXT", help="title of the picture")
    _add_decoding(parser)
    return parser


def _add_decoding(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("Decoding", "as in fairseq-generate").add_argument
    add("--max-iter", type=int, default=10, metavar="N", help="largest T_max (default: 10)")
    add(
        "--iter-decode-eos-penalty", type=float, default=0.0, metavar="F", help="gamma (default: 0)"
    )
    add("--delete-threshold", type=float, default=0.5, metavar="F", help="default: 0.5")
    add("--max-len-a", type=float, default=0.0, metavar="A", help="default: 0")
    add("--max-len-b", type=int, default=200, metavar="B", help="default: 200")
    add("--batch-size", type=int, default=64, metavar="N", help="sentences at once (default: 64)")
    add(
        "--skip-invalid-size-inputs-valid-test",
        action="store_true",
        help="leave out lines that are too long, and name them",
    )
    add("--cpu", action="store_true", help="use no GPU")


def _check(args: argparse.Namespace) -> None:
    for flag, value in (("--max-iter", args.max_iter), ("--batch-size", args.batch_size)):
        if value < 1:
            raise UserError(f"{flag} {value}: must be 1 or more")
    if args.metric not in METRICS:
        raise UserError(f"--metric {args.metric}: choose one of {', '.join(METRICS)}")
    written = [path for path in (args.csv, args.png) if path is not None]
    if "" in written or "-" in written:
        raise UserError("--csv and --png need the name of a file")
    files = [os.path.realpath(path) for path in [*written, args.references] if path is not None]
    for path in written:
        if files.count(os.path.realpath(path)) > 1:
            raise UserError(f"{path} would be written over: give --csv and --png other names")
    if args.references is not None and not os.path.isfile(args.references):
        raise UserError(f"--references {args.references} does not exist; check the path")
    if args.png is not None:
        require_matplotlib()


if __name__ == "__main__":
    run_cli(main)
