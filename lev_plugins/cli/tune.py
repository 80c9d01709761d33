"""Chooses how an edit model decodes by what its outputs score on the validation set.

    python -m lev_plugins.cli.tune DATA --path checkpoint_last.pt --remove-bpe sentencepiece

The empty penalty γ (§3.3) and the probability above which a token is deleted decide how much is
written and how much of it stays. All pairs of the values given are decoded and scored; the last
line has the flags of the best for fairseq-generate and fairseq-interactive.
"""

import argparse
import os
from collections.abc import Sequence

from ..errors import UserError, counted
from ..fairseq_patches import run_cli
from ..io.output import standard_output
from ..io.progress import progress
from ..io.text_files import SUBWORDS
from ..metrics.corpus import METRICS, make_metric
from ..registration import register
from .options import adder, at_least_one, make_parser

GAMMAS = "0,0.5,1,2"
THRESHOLDS = "0.5,0.7,0.8,0.9"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    register(lean=True)
    from ..inference.corpus import load, read_corpus
    from ..inference.decoding_search import choose, render

    check(args)
    metric = make_metric(args.metric)
    task, models = load(args)
    corpus = read_corpus(task, models, args)
    pairs = len(args.gammas) * len(args.thresholds)
    choices = list(progress(choose(task, models, corpus, metric, args), "settings", pairs))
    out = standard_output()
    out.write(f"{args.gen_subset}: {counted(len(corpus.references), 'sentence')}\n")
    out.write(render(choices, metric))


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "tune", "Chooses the empty penalty and the deletion threshold on a validation set."
    )
    add = adder(parser)
    add("data DATA", "folder that preprocess wrote")
    add(
        "--path FILES",
        "checkpoint or its folder, or several joined by colons: an ensemble",
        required=True,
    )
    add("--gen-subset SPLIT", "split to decode (default: valid)", "valid")
    add("--source-lang -s LANG", "default: as the data folder says")
    add("--target-lang -t LANG", "default: as the data folder says")
    add("--draft-lang LANG", "suffix of the drafts (default: from nothing)")
    add("--metric NAME", f"of {', '.join(METRICS)} (default: bleu)", "bleu")
    add("--references FILE", "references as text (default: those in DATA)")
    add("--remove-bpe", "join subwords or characters to words", choices=sorted(SUBWORDS))
    add("--gammas LIST", f"empty penalties (default: {GAMMAS})", GAMMAS)
    add("--thresholds LIST", f"deletion thresholds (default: {THRESHOLDS})", THRESHOLDS)
    add("--max-iter N", "T_max (default: 10)", 10)
    add("--batch-size N", "sentences at once (default: 64)", 64)
    add("--skip-invalid-size-inputs-valid-test", "leave out lines that are too long, and name them")
    add("--cpu", "use no GPU")
    return parser


def check(args: argparse.Namespace) -> None:
    """Reads the lists of numbers.

    Raises:
        UserError: values that nothing can be decoded with.
    """
    from ..systems.levenshtein.decoding.options import LARGEST_PENALTY

    at_least_one(args, "max_iter", "batch_size")
    if args.metric not in METRICS:
        raise UserError(f"--metric {args.metric}: choose one of {', '.join(METRICS)}")
    if args.references is not None and not os.path.isfile(args.references):
        raise UserError(f"--references {args.references} does not exist; check the path")
    args.gammas = _numbers("--gammas", args.gammas, LARGEST_PENALTY)
    args.thresholds = _numbers("--thresholds", args.thresholds, 1.0)
    args.delete_threshold = args.thresholds[0]


def _numbers(flag: str, text: str, most: float) -> list[float]:
    try:
        found = [float(one) for one in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 <= one <= most for one in found):
        raise UserError(f"{flag} {text}: give numbers from 0 to {most:g}, with commas between them")
    return found


if __name__ == "__main__":
    run_cli(main)
