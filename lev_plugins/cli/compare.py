"""Compare two systems' outputs sentence by sentence: Welch's t-test (gated-Trans paper, §5).

    python -m lev_plugins.cli.compare gated.txt plain.txt --reference clean.txt

Of each metric: the means of the sentence scores, their difference A − B, Welch's t with its degrees
of freedom, and p. Welch (1947) takes the two columns for independent samples of unequal variance,
as the paper does; but both systems answer the same sentences, so that a paired test sees smaller
differences: its p stands beside it. Sentences without a word in the reference have no score and are
left out, which is said. ``--json FILE`` writes the numbers.
"""

import argparse
import json
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.output import printable, standard_output, whole_file
from ..io.text_files import read_parallel
from ..metrics.corpus import METRICS, WORD_METRICS, Metric
from ..metrics.significance import compared, scipy_stats, sentence_metric
from ..metrics.words import is_char_tokenized
from .options import adder, make_parser

_PRINTED = re.compile(r"[HSTDPI]-[0-9]+\t")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    metrics = _check(args)
    with ExitStack() as stack:
        # Opened first: a folder that cannot be written is told before anything is computed.
        out = stack.enter_context(whole_file(args.json)) if args.json else None
        lines = list(read_parallel([args.a, args.b, args.reference]))
        _refuse_others(args, lines, metrics)
        scored = [line for line in lines if line[2].split()]
        if not scored:
            raise UserError(f"{args.reference} has no words: there is nothing to compare with")
        found = {
            "a": args.a,
            "b": args.b,
            "reference": args.reference,
            "sentences": len(scored),
            "without_reference": len(lines) - len(scored),
            "metrics": [compared(metric, scored) for metric in metrics],
        }
        if out is not None:
            json.dump(found, out, ensure_ascii=True, allow_nan=False, indent=1)
            out.write("\n")
    standard_output().write(render_table(found))


def render_table(found: dict[str, Any]) -> str:
    """The numbers as text, a line for each metric."""
    empty = found["without_reference"]
    left_out = f"; {empty} left out, whose reference has no words" if empty else ""
    lines = [
        f"A: {printable(found['a'])}",
        f"B: {printable(found['b'])}",
        f"{found['sentences']} sentences; means of sentence scores" + left_out,
        "",
        f"{'metric':<16}{'A':>9}{'B':>9}{'A - B':>9}{'A better':>10}{'B better':>10}"
        f"{'t':>9}{'df':>9}{'p':>10}{'p (A > B)':>11}{'p paired':>10}",
    ]
    for one in found["metrics"]:
        better = "" if one["higher_is_better"] else " (lower)"
        means = (one["mean_a"], one["mean_b"], one["difference"])
        lines.append(
            f"{one['metric'] + better:<16}"
            + "".join(f"{value:>9.2f}" for value in means)
            + "".join(f"{count:>10}" for count in one["better"])
            + f"{_shown(one['t'], '.3f'):>9}{_shown(one['df'], '.1f'):>9}"
            + f"{_shown(one['p'], '.2g'):>10}{_shown(one['p_one_sided'], '.2g'):>11}"
            + f"{_shown(one['p_paired'], '.2g'):>10}"
        )
    lines += ["", *(f"{one['metric']}: {one['signature']}" for one in found["metrics"])]
    return "\n".join(lines) + "\n"


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


# ---------------------------------------------------------------- options


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "compare",
        "Welch's t-test between two systems' outputs, sentence by sentence.",
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
    if args.json in ("", "-"):
        raise UserError("--json needs the name of a file")
    given = {os.path.realpath(path) for path in (args.a, args.b, args.reference)}
    if args.json and os.path.realpath(args.json) in given:
        raise UserError(f"{args.json} would be written over: give --json another name")
    scipy_stats()
    return [sentence_metric(name) for name in names]


def _refuse_others(
    args: argparse.Namespace, lines: Sequence[Sequence[str]], metrics: Sequence[Metric]
) -> None:
    """Refuse files that are no plain outputs: their scores would mean nothing."""
    if not lines:
        raise UserError(f"no lines in {args.a}, {args.b}, {args.reference}; give files with some")
    for path, texts in zip((args.a, args.b, args.reference), zip(*lines)):
        if any(_PRINTED.match(text) for text in texts):
            raise UserError(
                f"{path} is what fairseq prints; take the text out of it: "
                f"grep ^H- {path} | sort -V | cut -f 3-"
            )
        words = [metric.name for metric in metrics if metric.name in WORD_METRICS]
        if words and is_char_tokenized(texts):
            raise UserError(
                f"{path}: its lines are characters, not words, which {words[0]} counts; join them "
                "with --remove-bpe, or leave it out of --metrics"
            )


if __name__ == "__main__":
    run_cli(main)
