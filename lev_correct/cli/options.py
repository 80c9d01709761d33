"""The options of ``correct``, and what can be told of them before a model loads."""

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from functools import partial

from lev_runtime.errors import UserError, require_share
from lev_runtime.io.lines import STANDARD_STREAM, is_stream
from lev_runtime.io.options import (
    add_model_data,
    adder,
    at_least_one,
    make_parser,
)
from lev_runtime.io.output import refuse_overwriting
from lev_runtime.io.text_files import require_files

from ..repository.findings import FORMATS
from ..repository.repository import NAMED

LISTS = ("lexicon", "lookup", "bigrams", "confusions", "protect_words")


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "correct",
        "Correct text, line by line. Text that the model does not change is kept byte for "
        "byte, including whitespace, line ends and bytes that are not UTF-8.",
        "--path model.pt --min-confidence 0.9 --edits edits.jsonl < noisy > clean",
        "[--path CHECKPOINT] [options] [FILE ...] > clean\n"
        "[--path CHECKPOINT] [options] FILE|FOLDER ... --output-dir OUT\n"
        "[--path CHECKPOINT] [options] --check FILE|FOLDER ...",
    )
    add = adder(parser)
    add("files FILE", "text to correct; - is standard input (default)", nargs="*")
    add("--path CHECKPOINT", "checkpoint or its folder (default: the packaged English spelling)")
    add(
        "--min-confidence P",
        "minimum probability of an edit (default: as tuned, otherwise 0)",
        type=float,
    )
    add("--eager", "make every edit that the model wants, even of probable terms")
    add(
        "--protect REGEX",
        "make no edit in matches of this; or: code, none; repeatable",
        action="append",
    )
    add("--protect-words FILE", "words and phrases to leave alone, one a line")
    add("--output-dir DIR", "write files and folders here; skip existing files")
    add("--in-place", "overwrite each file, completely or not at all")
    add("--diff", "print the changes as a unified diff")
    add(
        "--check",
        "print file:line:column: word -> words (probability); status 1 if there are findings, "
        "2 on errors",
    )
    add("--format NAME", "with --check: text, github, json (default: text)", choices=[*FORMATS])
    add("--exclude GLOB", "with --check: paths to skip; repeatable", action="append")
    add("--accept", "like --check, and add the words found to the repository's word list")
    add("--edits FILE", "also write all edits, applied or not, as JSON lines")
    add(
        "--tune",
        "do not correct; choose the threshold on two files and save it for later runs with "
        "this model",
        metavar=("NOISY", "CLEAN"),
        nargs=2,
    )
    add("--goal GOAL", "with --tune: changed:N or accuracy (default: changed:1)")
    add("--lexicon FILE", "known words, with or without counts; candidates for other words")
    add("--device NAME", "device, such as cuda (default: cpu)")
    _add_few(parser)
    return parser


def _add_few(parser: argparse.ArgumentParser) -> None:
    """What ``--help-all`` alone shows."""
    add = partial(adder(parser.add_argument_group("model and speed")), advanced=True)
    add(
        "--unit KIND",
        "what the model reads at once: word, letters, line or window (default: as tuned; "
        "otherwise letters with --lexicon or --lookup; otherwise as in training)",
    )
    add("--window N", "words in a window (default: as in training)", type=int)
    add_model_data(add, "; none turns it off", advanced=True)
    add("--beam N", "left-to-right models: beam size (default: as tuned, otherwise 5)", type=int)
    add(
        "--draft-guided",
        "left-to-right models without ranking: the output of --beam 1 in fewer passes, by "
        "reading ahead in the text",
    )
    add("--batch-size N", "units per batch (default: 64)", 64)
    add(
        "--buffer N",
        "lines to read and correct together; 1 answers each line at once (default: 1024; on a "
        "terminal 1)",
        1024,
    )
    add(
        "--precision",
        "bf16 is faster and may change corrections (default: fp32; 8 bits: lev-export --int8)",
        "fp32",
        choices=("fp32", "bf16", "int8"),
    )
    add = partial(adder(parser.add_argument_group("ranking and tuning")), advanced=True)
    add("--lookup FILE", "known misspellings: wrong, tab, right, one pair a line")
    add(
        "--bigrams FILE",
        "two neighbouring words and their count on each line; ranks candidates by their "
        "neighbours too",
    )
    add(
        "--confusions FILE",
        "words often confused, two or more a line (then than); the neighbours decide which was "
        "meant; needs --bigrams",
    )
    add(
        "--weight NAME=VALUE",
        "a weight of the ranking, overriding the settings; with --tune: its initial value; "
        "repeatable",
        action="append",
    )
    add(
        "--settings FILE",
        "file written by --tune, or none (default: corrector.json beside the checkpoint)",
    )
    add("--tune-weights", "with --tune: also fit the weights of the ranking")
    add(
        "--adapt",
        "with --tune, for single words: from now on estimate in each text how many of its unknown "
        "words are errors, and judge them by that; fits two weights",
    )


def weights(arguments: Sequence[str]) -> dict[str, float]:
    """``NAME=VALUE`` each; whether there is such a weight is for the ranking to say.

    Raises:
        UserError: another text.
    """
    by_name = {}
    for text in arguments:
        name, _, value = text.partition("=")
        try:
            by_name[name] = float(value)
        except ValueError:
            by_name[name] = math.nan
        if not (name and math.isfinite(by_name[name])):
            raise UserError(f"--weight {text}: expected NAME=NUMBER, such as frequency=0.1")
    return by_name


def check(args: argparse.Namespace) -> None:
    """What can be told without the model."""
    from ..text.units import check_unit
    from ..tuning import Goal

    check_unit(args.unit, args.window)
    weights(args.weight or ())
    if args.min_confidence is not None:
        require_share("--min-confidence", args.min_confidence, "certainty")
    if args.goal is not None:
        Goal.parse(args.goal)
    for name in ("output_dir", *LISTS):
        path, flag = getattr(args, name), f"--{name.replace('_', '-')}"
        if path == "":
            raise UserError(f"{flag} is empty: give a path or leave it out")
        if path and args.tune and is_stream(path):
            raise UserError(f"{flag} {path} cannot be read twice, as --tune needs; give a file")
    at_least_one(args, "batch_size", "buffer")
    _check_ways(args)
    if args.output_dir is None and not args.check:
        for path in args.files:
            if os.path.isdir(path):
                raise UserError(f"{path} is a folder; give a text file, or add --output-dir OUT")
        require_files(args.files)
    words = [args.protect_words] if args.protect_words else []
    inputs = [] if args.output_dir else args.files
    check_reports(args, {"--protect-words": words, "the input": inputs})


def check_reports(args: argparse.Namespace, others: Mapping[str, Sequence[str]]) -> None:
    """Refuse a report that would write over another file."""
    read = [(what, path) for what, paths in others.items() for path in paths]
    refuse_overwriting({"--edits": args.edits}, read)


def _check_ways(args: argparse.Namespace) -> None:
    """The text goes to one place, standard output takes one thing, and ``--tune`` no text."""
    ways = {"--output-dir": args.output_dir, "--in-place": args.in_place, "--tune": args.tune}
    ways["--diff" if args.diff else "--check"] = args.diff or args.check
    flags = [flag for flag, value in ways.items() if value]
    if len(flags) > 1:
        raise UserError(f"{flags[0]} and {flags[1]} cannot be combined")
    _check_companions(args)
    if args.tune and not args.path:
        raise UserError("--tune needs your own model: add --path")
    patterns = [pattern for pattern in args.protect or () if pattern not in NAMED]
    others = {"files": args.files, "edits": args.edits, "protect": patterns}
    others["min-confidence"] = args.min_confidence is not None
    for name in (name for name, value in others.items() if value and args.tune):
        raise UserError(f"--tune does not correct: leave out --{name} and correct afterwards")
    to_files = args.output_dir or args.in_place
    free = to_files or (args.check and not args.diff)  # standard output takes no text
    if to_files and (not args.files or STANDARD_STREAM in args.files):
        raise UserError(f"{flags[0]} needs files, not standard input")
    if args.edits == STANDARD_STREAM and not free:
        raise UserError("--edits -: standard output is used for the text; name a file")


def _check_companions(args: argparse.Namespace) -> None:
    """Options that have a meaning beside another one alone, or in its place."""
    for name in ("goal", "tune_weights", "adapt"):
        if getattr(args, name) and not args.tune:
            raise UserError(f"--{name.replace('_', '-')} needs --tune NOISY CLEAN")
    for name in ("format", "exclude"):
        if getattr(args, name) and not args.check:
            raise UserError(f"--{name} needs --check")
    for flag, value in (("--diff", args.diff), ("--accept", args.accept)):
        if args.format and value:
            raise UserError(f"--format and {flag} cannot be combined")
