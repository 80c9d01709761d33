"""Makes a text noisy, once and for all; or learn what a recogniser takes for what.

Line n of the output is line n of the input with its noise; everything else comes out byte for byte.
The task ``noisy_translation`` reads a test set with the same noise: kinds, rates and --noise-seed
given, line n is the same there. Noise on words makes drafts for post-editing out of their targets.
"""

import argparse
import json
from collections.abc import Sequence

from lev_runtime.errors import UserError, counted
from lev_runtime.io.lines import (
    STANDARD_STREAM,
    decode,
    progress,
    raw_lines,
)
from lev_runtime.io.options import adder, make_parser, say
from lev_runtime.io.output import refuse_overwriting, whole_file
from lev_runtime.io.text_files import read_parallel, require_files

from ..data.noise.confusions import learn, load_confusions
from ..data.noise.noiser import KINDS, PAPER, Noise, parse_kinds
from ..data.noise.rng import FIXED, sentence_random


def build_parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = make_parser(
        "noise",
        "Add noise to a text, line by line; or learn from two texts which characters a "
        "recogniser (OCR) confuses.",
        "--kind keyboard --seed 1 < clean.txt > noisy.txt",
        "--kind KINDS [options] < clean > noisy\n--learn-confusions NOISY CLEAN OUT.json",
    )
    add = adder(parser)
    add("--input FILE", "UTF-8 text (default: standard input)", STANDARD_STREAM)
    add(
        "--output FILE",
        "noisy text, complete or not written at all (default: standard output)",
        STANDARD_STREAM,
    )
    add("--seed N", "seed of the noise (default: %(default)s)", 1)
    _add_noise(parser)
    learning = adder(parser.add_argument_group("learning a table of confusions"))
    about = "align two texts line by line, and write how often each character was read as another"
    learning("--learn-confusions", about, nargs=3, metavar=("NOISY", "CLEAN", "OUT.json"))
    return parser


def _add_noise(parser: argparse.ArgumentParser) -> None:
    """Adds kinds and how much is changed, with the defaults of Noise."""
    default, add = Noise(), adder(parser.add_argument_group("noise"))
    all_of = f"{', '.join(KINDS)}; all: {', '.join(PAPER)}"
    add("--kind KINDS", f"comma separated; one is sampled for each line: {all_of}")
    words = "share of a line's words to change, 1 to 10 words (default: %(default)s)"
    add("--word-rate SHARE", words, default.word_rate)
    letters = "share of a chosen word's letters to change, 1 to 10 letters (default: %(default)s)"
    add("--char-rate SHARE", letters, default.char_rate)
    short = "leave shorter words alone (default: %(default)s)"
    add("--min-length N", short, default.min_length, advanced=True)
    add("--confusions FILE", "table for ocr noise, with its own rates (default: similar shapes)")
    times = "factor on the rates of --confusions (default: %(default)s)"
    add("--confusion-scale X", times, default.confusion_scale, advanced=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command; raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    if args.learn_confusions:
        if args.kind or args.confusions or {args.input, args.output} != {STANDARD_STREAM}:
            raise UserError("--learn-confusions adds no noise: give only its three files")
        return _learn(args)
    if not args.kind:
        raise UserError(f"give --kind: one of {', '.join(KINDS)}, or all")
    require_files([args.input])
    read = [("--input", args.input), ("--confusions", args.confusions)]
    refuse_overwriting({"--output": args.output}, read)
    name = "standard input" if args.input == STANDARD_STREAM else args.input
    kinds = parse_kinds("--kind", args.kind)
    if args.confusions is not None and "ocr" not in kinds:
        raise UserError(f"--confusions {args.confusions} only works with --kind ocr")
    rates = args.word_rate, args.char_rate, args.min_length
    table = None if args.confusions is None else load_confusions(args.confusions)
    noise = Noise(kinds, *rates, table, args.confusion_scale, flag="--")
    with whole_file(args.output) as output:
        lines = progress(raw_lines(args.input), "lines", args.output, args.input)
        for number, raw in enumerate(lines):
            body = raw.removesuffix(b"\n").removesuffix(b"\r")
            line = decode(name, number + 1, body)
            noisy = noise(line, sentence_random(args.seed, FIXED, number))
            output.write(noisy + raw[len(body) :].decode())


def _learn(args: argparse.Namespace) -> None:
    noisy, clean, output = args.learn_confusions
    require_files([noisy, clean])
    refuse_overwriting({"--learn-confusions": output}, [("NOISY", noisy), ("CLEAN", clean)])
    with whole_file(output) as file:
        table = learn((a, b) for a, b in read_parallel([noisy, clean]))
        if not table:
            raise UserError(f"{noisy} and {clean}: no confusion occurs twice; give more text")
        json.dump({"rates": table}, file, ensure_ascii=False, indent=1)
        file.write("\n")
    say(f"{output}: {counted(sum(map(len, table.values())), 'confusion')}")
