"""Make synthetic drafts out of any text, so that pairs become triples for post-editing.

    python -m lev_plugins.cli.make_drafts --input train.pe --output train.mt \
        --drop 0.1 --repeat 0.05 --swap 0.05 --replace 0.1 --seed 1

Line n of the output is made of line n of the input, whatever happens to it, and an empty line
stays empty. A line that nothing happened to comes out as it went in; in any other the tokens
stand between single spaces. The rest is said in :mod:`lev_plugins.data.draft_noise`.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from ..data.draft_noise import NoiseCounts, NoiseRates, Vocabulary, line_random, noisy_line
from ..data.draft_vocabulary import read_vocabulary
from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.output import refuse_overwriting, require_folder, whole_file
from ..io.progress import lines_of, progress
from ..io.text_files import read_lines, refuse_special_tokens, require_files
from ..reports.drafts import summarise
from .options import adder, make_parser

RATES = {
    "drop": "share of the tokens that are left out; the only way for a line to lose all of them",
    "repeat": "share of the tokens that are written twice",
    "swap": "share of the tokens that change places with a neighbour, two at a time",
    "replace": "share of the tokens that give way to another one",
    "similar": "share of the replacements by a token that looks like the old one: one edited "
    "character up to five characters, two in longer tokens; where there is none, by any other",
}


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "make_drafts",
        "Make synthetic drafts: a copy of a text, line by line, with tokens dropped, "
        "repeated, swapped and replaced. The tokens are what stands between spaces.",
        "--input train.pe --output train.mt --drop 0.1 --repeat 0.05 "
        "--swap 0.05 --replace 0.1 --similar 0.5 --seed 1",
    )
    add = adder(parser)
    add("--input FILE", "text in UTF-8, one sentence a line", required=True)
    add("--output FILE", "the drafts; written whole or not at all", required=True)
    for name, what in RATES.items():
        add(f"--{name} SHARE", f"{what} (default: 0)", 0.0)
    add(
        "--vocabulary FILE",
        "where replacements come from: a token a line, with its frequency behind it or without; a "
        "dict.LANG.txt will do (default: the tokens of --input)",
    )
    add("--seed N", "with the line's number all that chance depends on (default: %(default)s)", 1)
    add(
        "--first-line N",
        "the number of the first line: a part of a file, told where it begins and given the whole "
        "file's --vocabulary, gets the drafts that the whole file would get (default: 1)",
        1,
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    rates = NoiseRates(**{name: getattr(args, name) for name in RATES})
    _check_paths(args)
    total = NoiseCounts()
    with whole_file(args.output) as output:  # first: that it cannot be written is told at once
        vocabulary = _vocabulary(args, rates)
        lines = progress(read_lines(args.input), "lines", lines_of(args.input), args.output)
        for number, line in enumerate(lines, start=1):
            words = line.split()
            refuse_special_tokens(args.input, number, words)
            rng = line_random(args.seed, args.first_line + number - 1)
            noisy, counts = noisy_line(words, rates, vocabulary, rng)
            output.write((line if counts.unchanged else " ".join(noisy)) + "\n")
            total.add(counts)
        if not total.lines:
            raise UserError(f"{args.input}: no lines in it; give a file with sentences")
    print(summarise(args.input, args.output, rates, total, len(vocabulary)), file=sys.stderr)
    return 0


def _check_paths(args: argparse.Namespace) -> None:
    require_files([path for path in (args.input, args.vocabulary) if path is not None])
    refuse_overwriting(
        {"--output": args.output}, [("--input", args.input), ("--vocabulary", args.vocabulary)]
    )
    require_folder("--output", args.output)


def _vocabulary(args: argparse.Namespace, rates: NoiseRates) -> Vocabulary:
    """What replacements are sampled from; nothing is read where nothing is replaced."""
    if args.vocabulary is not None:
        vocabulary = Vocabulary(read_vocabulary(args.vocabulary))
        if not len(vocabulary):
            raise UserError(f"{args.vocabulary}: no token with a frequency above 0 in it")
        return vocabulary
    counts: Counter[str] = Counter()
    if rates.replace > 0:
        for line in read_lines(args.input):
            counts.update(line.split())
    return Vocabulary(counts)


if __name__ == "__main__":
    run_cli(main)
