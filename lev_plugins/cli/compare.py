"""Compare two systems' outputs sentence by sentence: Welch's t-test (gated-Trans paper, §5).

    python -m lev_plugins.cli.compare gated.txt plain.txt --reference clean.txt

Of each metric: the means of the sentence scores, their difference A − B, Welch's t with its degrees
of freedom, and p. Welch (1947) takes the two columns for independent samples of unequal variance,
as the paper does; but both systems answer the same sentences, so that a paired test sees smaller
differences: the p of sacrebleu's, on the score of the corpus, stands beside it. Sentences without a
word in the reference have no score and are left out, which is said. ``--json FILE`` writes the
numbers.
"""

import argparse
import json
from collections.abc import Sequence
from contextlib import ExitStack

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.output import refuse_overwriting, require_names, standard_output, whole_file
from ..metrics.corpus import METRICS, Metric
from ..metrics.significance import scipy_stats, sentence_metric
from ..reports.comparison import compare, render_table
from .options import adder, make_parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    metrics = _check(args)
    with ExitStack() as stack:
        # Opened first: a folder that cannot be written is told before anything is computed.
        out = stack.enter_context(whole_file(args.json)) if args.json else None
        found = compare(args.a, args.b, args.reference, metrics)
        if out is not None:
            json.dump(found, out, ensure_ascii=True, allow_nan=False, indent=1)
            out.write("\n")
    standard_output().write(render_table(found))


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "compare", "Welch's t-test between two systems' outputs, sentence by sentence."
    )
    add = adder(parser)
    add("a A", "outputs of a system, one line a sentence")
    add("b B", "outputs of the other")
    add("--reference FILE", "what they should be", required=True)
    add("--metrics NAMES", f"of {', '.join(METRICS)} (default: wrr,bleu,chrf)", "wrr,bleu,chrf")
    add("--json FILE", "write the numbers")
    return parser


def _check(args: argparse.Namespace) -> list[Metric]:
    names = [name.strip() for name in args.metrics.split(",")]
    for name in names:
        if name not in METRICS:
            raise UserError(f"--metrics {args.metrics}: {name!r} is none of {', '.join(METRICS)}")
        if names.count(name) > 1:
            raise UserError(f"--metrics {args.metrics}: {name} is there twice")
    require_names({"--json": args.json})
    read = [("A", args.a), ("B", args.b), ("--reference", args.reference)]
    refuse_overwriting({"--json": args.json}, read)
    scipy_stats()
    return [sentence_metric(name) for name in names]


if __name__ == "__main__":
    run_cli(main)
