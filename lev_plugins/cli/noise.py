"""Make a text noisy, or make synthetic drafts of it, once and for all.

Line n of the output is line n of the input with its noise; everything else comes out byte for byte.
The task ``noisy_translation`` reads a test set with the same noise: kinds, rates and --noise-seed
given, line n is the same there. Drafts (:mod:`lev_plugins.data.noise.drafts`) make pairs into
triples for post-editing.
"""

import argparse
from collections import Counter
from collections.abc import Sequence

from ..data.noise import (
    FIXED,
    KINDS,
    PAPER,
    Counts,
    Noise,
    NoiseOptions,
    load_confusions,
    parse_kinds,
    sentence_random,
)
from ..data.noise.confusions import learn, to_json
from ..data.noise.drafts import DraftRates, Drafts, Vocabulary, read_vocabulary
from ..data.noise.rng import line_random
from ..errors import UserError
from ..io.lines import STANDARD_STREAM, decode, is_stream, lines_of, progress, raw_lines
from ..io.output import refuse_overwriting, whole_file
from ..io.text_files import read_lines, read_parallel, require_files
from .options import adder, at_least_one, make_parser, say

#: fields of NoiseOptions that have a flag each
RATES = {
    "word_rate": "share of a line's words that are changed",
    "char_rate": "share of the letters of such a word that are changed",
    "max_words": "changed words in a line, at most",
    "max_chars": "changed letters in a word, at most",
    "min_length": "words of fewer letters are left alone",
}
#: fields of DraftRates, likewise
DRAFT_RATES = {
    "drop": "share of the tokens that are left out (all shares: 0 by default)",
    "repeat": "of those that are written twice",
    "swap": "of those that change places with a neighbour, two at a time",
    "replace": "of those that give way to another one",
    "similar": "of the replacements: by a token that looks like the old one",
}


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "noise",
        "Make a text noisy or make synthetic drafts of it, line by line; or learn from a pair of "
        "texts what a recogniser takes for what.",
        "--kind keyboard --seed 1 < clean.txt > noisy.txt",
        "--kind KINDS [options] < clean > noisy\n--drafts --drop P … --input FILE --output FILE\n"
        "--learn-confusions NOISY CLEAN OUT.json",
    )
    add = adder(parser)
    add("--input FILE", "text in UTF-8 (default: standard input)", STANDARD_STREAM)
    add("--output FILE", "whole or not at all (default: standard output)", STANDARD_STREAM)
    add("--seed N", "another seed, another noise (%(default)s)", 1)
    _add_noise(parser)
    drafts = adder(parser.add_argument_group("synthetic drafts"))
    drafts("--drafts", "tokens (between spaces) are dropped, repeated, swapped and replaced")
    for name, what in DRAFT_RATES.items():
        drafts(f"--{name} SHARE", what, 0.0)
    drafts("--vocabulary FILE", "replacements, as in a dict.LANG.txt (default: those of --input)")
    learning = adder(parser.add_argument_group("learning a table of confusions"))
    learning(
        "--learn-confusions",
        "align two texts line by line, and write how often which characters were read as what",
        nargs=3,
        metavar=("NOISY", "CLEAN", "OUT.json"),
    )
    learning("--least N", "a confusion seen less often is left out (%(default)s)", 2, advanced=True)
    return parser


def _add_noise(parser: argparse.ArgumentParser) -> None:
    """Kinds and how much is changed, with the defaults of NoiseOptions."""
    default, add = NoiseOptions(), adder(parser.add_argument_group("noise"))
    all_of = f"{', '.join(KINDS)}; all: {', '.join(PAPER)}"
    add("--kind KINDS", f"comma separated, one is sampled for each line: {all_of}")
    for name, what in RATES.items():
        value = getattr(default, name)
        shown = "SHARE" if isinstance(value, float) else "N"
        flag = f"--{name.replace('_', '-')} {shown}"
        add(flag, f"{what} (%(default)s)", value, advanced=name not in ("word_rate", "char_rate"))
    add("--confusions FILE", "table for ocr noise, with rates of its own (default: of shapes)")
    times = "the rates of --confusions are multiplied by this (%(default)s)"
    add("--confusion-scale X", times, default.confusion_scale, advanced=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    if args.learn_confusions:
        return _learn(args)
    if args.drafts == bool(args.kind):
        raise UserError(f"give --drafts or --kind: one of {', '.join(KINDS)}, or all")
    read = {"--input": args.input, "--vocabulary": args.vocabulary}
    require_files([path for path in read.values() if path not in (None, STANDARD_STREAM)])
    read["--confusions"] = args.confusions
    refuse_overwriting({"--output": args.output}, read.items())
    name = "standard input" if args.input == STANDARD_STREAM else args.input
    noise, counts = _drafts(args) if args.drafts else _noise(args), Counts()
    with whole_file(args.output) as output:
        lines = progress(raw_lines(args.input), "lines", lines_of(args.input), args.output)
        for number, raw in enumerate(lines, start=1):
            body = raw.removesuffix(b"\n")  # which only the last may lack
            line = decode(name, number, body)
            if args.drafts:
                rng = line_random(args.seed, number)
            else:
                rng = sentence_random(args.seed, FIXED, number - 1)
            noisy = noise(line, rng)
            counts.add(line, noisy)
            output.write(noisy + "\n" * (len(body) < len(raw)))
    say(counts)


def _noise(args: argparse.Namespace) -> Noise:
    kinds = parse_kinds("--kind", args.kind)
    if args.confusions is not None and "ocr" not in kinds:
        raise UserError(f"--confusions {args.confusions} is for ocr noise; give --kind ocr")
    options = NoiseOptions(
        kinds=kinds,
        confusions=None if args.confusions is None else load_confusions(args.confusions),
        confusion_scale=args.confusion_scale,
        flag="--",
        **{name: getattr(args, name) for name in RATES},
    )
    return Noise(options)


def _drafts(args: argparse.Namespace) -> Drafts:
    rates = DraftRates(**{name: getattr(args, name) for name in DRAFT_RATES})
    if args.vocabulary is not None:
        tokens = read_vocabulary(args.vocabulary)
        if not tokens.total():
            raise UserError(f"{args.vocabulary}: no token with a frequency above 0 in it")
    elif rates.replace and is_stream(args.input):
        raise UserError("--replace takes the tokens of --input FILE; name it, or give --vocabulary")
    else:
        lines = read_lines(args.input) if rates.replace else iter(())
        tokens = Counter(token for line in lines for token in line.split())
    return Drafts(rates, Vocabulary(tokens))


def _learn(args: argparse.Namespace) -> None:
    noisy, clean, output = args.learn_confusions
    at_least_one(args, "least")
    require_files([noisy, clean])
    refuse_overwriting({"--learn-confusions": output}, [("NOISY", noisy), ("CLEAN", clean)])
    with whole_file(output) as file:
        table, seen = learn(((a, b) for a, b in read_parallel([noisy, clean])), args.least)
        if not table:
            raise UserError(
                f"{noisy} and {clean}: no confusion was seen {args.least} times; give more text, "
                "or --least 1"
            )
        file.write(to_json(table, seen))
    say(
        f"{output}: {sum(map(len, table.values())):,} confusions from {seen.lines:,} lines, "
        f"{seen.characters:,} characters, {seen.changes:,} differences; left out: "
        f"{seen.left_out:,} (with a space, too long or too rare)"
    )
