"""Scores, edits and iterations of outputs, side by side and next to the drafts themselves.

Reads what fairseq-generate and fairseq-interactive print, and plain text. A table goes to stdout;
``--json FILE`` writes all numbers (the keys of :func:`.figures.compute`).
"""

import argparse
import json
from collections.abc import Sequence
from contextlib import nullcontext

from lev_runtime.errors import UserError
from lev_runtime.io.lines import STANDARD_STREAM
from lev_runtime.io.options import adder, make_parser
from lev_runtime.io.output import refuse_overwriting, standard_output, whole_file

from ..reports.figures import KNOWN, compute, read_corpus
from ..reports.table import render_table


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    names = _check(args)
    # Opened first: a folder that cannot be written is told before anything is computed.
    with whole_file(args.json) if args.json else nullcontext() as out:
        corpus = read_corpus(args.printed, args.hypotheses, args.references, args.drafts)
        report = compute(corpus, names, args.metrics)
        if out:
            json.dump(report, out, allow_nan=False, indent=1)
            out.write("\n")
    if args.json != STANDARD_STREAM:
        standard_output().write(render_table(report))


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")]


def build_parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = make_parser(
        "report",
        "Compare outputs: scores, edits against the drafts, iterations. Line n of a text "
        "file is sentence n − 1.",
        "ours.out stock.out --names ours,stock --drafts test.mt --json report.json",
        "[OUTPUT ...] [options]",
    )
    add = adder(parser)
    metrics = f"comma separated, of {', '.join(KNOWN)} (default: all)"
    numbers = "also write all numbers with the metrics' signatures; - prints them, not the table"
    texts = "outputs as plain text, one file per system"
    add("printed OUTPUT", "output of fairseq-generate; - is standard input", nargs="*")
    add("--hypotheses FILE", texts, [], nargs="+", action="extend")
    add("--names A,B", "names of the systems (default: the files)", type=_listed)
    add("--references FILE", "references as plain text (default: the T- lines)")
    add("--drafts FILE", "drafts, or the uncorrected text, as plain text")
    add("--metrics NAMES", metrics, list(KNOWN), type=_listed)
    add("--json FILE", numbers)
    return parser


def _check(args: argparse.Namespace) -> list[str]:
    """Returns a name for every system: those given, else the files.

    Raises:
        UserError: options that cannot be, or contradict each other.
    """
    paths = [*args.printed, *args.hypotheses]
    if not paths:
        raise UserError("no outputs: give an output of fairseq-generate, or --hypotheses")
    for value in args.metrics:
        if value not in KNOWN:
            raise UserError(f"--metrics {value}: choose from {','.join(KNOWN)}")
    sides = {"--references": args.references, "--drafts": args.drafts}
    refuse_overwriting({"--json": args.json}, [*(("the output", p) for p in paths), *sides.items()])
    names: list[str] = args.names or paths
    if len(names) != len(paths):
        raise UserError(f"--names {','.join(names)}: give {len(paths)} names, one per system")
    return names
