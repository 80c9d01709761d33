"""Make a text noisy, once and for all: fixed noisy test sets, and more training pairs.

    python -m lev_plugins.cli.noise --kind keyboard --seed 1 < test.en > test.noisy
    python -m lev_plugins.cli.noise --learn-confusions train.ocr train.clean table.json
    python -m lev_plugins.cli.noise --kind ocr --confusions table.json --input more.clean \
        --output more.ocr

Line n of the output is line n of the input with its noise; everything else comes out byte for byte.
The task ``noisy_translation`` reads a test set with the same noise: kinds, rates and --noise-seed
given, line n is the same there.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence

from ..data.noise import (
    DEFAULT_EDITS,
    FIXED,
    KINDS,
    PAPER,
    Noise,
    NoiseOptions,
    learn,
    load_confusions,
    parse_edits,
    parse_kinds,
    sentence_random,
    to_json,
)
from ..data.noise.counting import Counts, summarise
from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.lines import STANDARD_STREAM, decode, raw_lines
from ..io.output import refuse_overwriting, report_file, require_folder, whole_file
from ..io.progress import lines_of, progress
from ..io.text_files import read_parallel, require_files
from .options import adder, make_parser

#: fields of NoiseOptions that have a flag each
RATES = {
    "word_rate": "share of a line's words that are changed",
    "char_rate": "share of the letters of such a word that are changed",
    "max_words": "changed words in a line, at most",
    "max_chars": "changed letters in a word, at most",
    "min_length": "words of fewer letters are left alone",
}


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "noise",
        "Make a text noisy, line by line, or learn from a pair of texts what a "
        "recogniser takes for what.",
    )
    add = adder(parser)
    add("--input FILE", "text in UTF-8 (default: standard input)", STANDARD_STREAM)
    add(
        "--output FILE",
        "the noisy text; written whole or not at all (default: standard output)",
        STANDARD_STREAM,
    )
    add(
        "--kind KINDS",
        f"comma separated: {', '.join(KINDS)}; all: {', '.join(PAPER)}; of several one is "
        "sampled for each line",
    )
    _add_rates(parser)
    add("--seed N", "another seed, another noise (%(default)s)", 1)
    add(
        "--first-line N",
        "number of the first line: a part of a file, told where it begins, gets the noise that "
        "the whole file would get (%(default)s)",
        1,
    )
    _add_learning(parser)
    return parser


def _add_learning(parser: argparse.ArgumentParser) -> None:
    add = adder(parser.add_argument_group("learning a table of confusions"))
    add(
        "--learn-confusions",
        "align two texts line by line, character by character, and write for segments of up to "
        "three characters how often each was read as what",
        nargs=3,
        metavar=("NOISY", "CLEAN", "OUT.json"),
    )
    add("--least N", "a confusion seen less often is left out (%(default)s)", 2)


def _add_rates(parser: argparse.ArgumentParser) -> None:
    """How much is changed, with the defaults of NoiseOptions."""
    default, add = NoiseOptions(), adder(parser)
    for name, what in RATES.items():
        value = getattr(default, name)
        shown = "SHARE" if isinstance(value, float) else "N"
        add(f"--{name.replace('_', '-')} {shown}", f"{what} (%(default)s)", value)
    add(
        "--random-edits EDITS",
        "what random noise does to a letter: insert, delete, substitute, swap (%(default)s)",
        ",".join(DEFAULT_EDITS),
    )
    add(
        "--confusions FILE",
        "table for ocr noise; its rates then take the place of the shares above (default: a small "
        "table of shapes)",
    )
    add(
        "--confusion-scale X",
        "the rates of --confusions are multiplied by this (%(default)s)",
        default.confusion_scale,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError`."""
    args = build_parser().parse_args(argv)
    if args.learn_confusions:
        _learn(args)
        return 0
    if args.kind is None:
        raise UserError(f"--kind is missing; give one of {', '.join(KINDS)}, or all")
    noise = Noise(_options(args))
    _check_paths(args)
    counts = Counts()
    with report_file(args.output) as output:
        lines = progress(_lines(args.input), "lines", lines_of(args.input), args.output)
        for number, (line, end) in enumerate(lines, start=args.first_line - 1):
            noisy = noise(line, sentence_random(args.seed, FIXED, number))
            output.write(noisy + end)
            counts.add(line, noisy)
    print(summarise(counts), file=sys.stderr)
    return 0


def _options(args: argparse.Namespace) -> NoiseOptions:
    kinds = parse_kinds("--kind", args.kind)
    if args.confusions is not None and "ocr" not in kinds:
        raise UserError(f"--confusions {args.confusions} is for ocr noise; give --kind ocr")
    return NoiseOptions(
        kinds=kinds,
        random_edits=parse_edits("--random-edits", args.random_edits),
        confusions=None if args.confusions is None else load_confusions(args.confusions),
        confusion_scale=args.confusion_scale,
        flag="--",
        **{name: getattr(args, name) for name in RATES},
    )


def _check_paths(args: argparse.Namespace) -> None:
    if args.first_line < 1:
        raise UserError(f"--first-line {args.first_line}: lines are counted from 1")
    if args.input != STANDARD_STREAM:
        require_files([args.input])
    refuse_overwriting(
        {"--output": args.output}, [("--input", args.input), ("--confusions", args.confusions)]
    )
    if args.output != STANDARD_STREAM:
        require_folder("--output", args.output)


def _lines(path: str) -> Iterator[tuple[str, str]]:
    """Lines and their ends, which only the last may lack."""
    name = "standard input" if path == STANDARD_STREAM else path
    for number, raw in enumerate(raw_lines(path), start=1):
        body = raw.removesuffix(b"\n")
        yield decode(name, number, body), "\n" if len(body) < len(raw) else ""


def _learn(args: argparse.Namespace) -> None:
    noisy, clean, output = args.learn_confusions
    if args.least < 1:
        raise UserError(f"--least {args.least}: give a number of 1 or more")
    require_files([noisy, clean])
    require_folder("--learn-confusions", output)
    refuse_overwriting({"--learn-confusions": output}, [("NOISY", noisy), ("CLEAN", clean)])
    with whole_file(output) as file:
        pairs = ((one, other) for one, other in read_parallel([noisy, clean]))
        table, seen = learn(pairs, args.least)
        if not table:
            raise UserError(
                f"{noisy} and {clean}: no confusion was seen {args.least} times; give more text, "
                "or --least 1"
            )
        file.write(to_json(table, seen))
    kept = sum(map(len, table.values()))
    print(
        f"{output}: {kept:,} confusions from {seen.lines:,} lines, {seen.characters:,} characters, "
        f"{seen.changes:,} differences; left out: {seen.spaced:,} with a space, {seen.long:,} too "
        f"long, {seen.rare:,} too rare, {seen.unaligned:,} lines too different to compare",
        file=sys.stderr,
    )


if __name__ == "__main__":
    run_cli(main)
