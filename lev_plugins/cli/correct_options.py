"""The options of ``correct``, and what can be told of them before a model loads."""

import argparse
import math
import os
from collections.abc import Sequence

from ..errors import UserError
from ..io.lines import STANDARD_STREAM, require_readable
from ..reports.correction_page import LINES
from ..reports.correction_report import REPORTS, check_reports
from ..reports.plotting import require_matplotlib
from .options import add_model_data, adder, at_least_one, make_parser

#: Flags of version 0.5: old → new.


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "correct",
        "Correct text, line by line, to standard output. What the model does not change is kept "
        "byte for byte: whitespace, line ends, bytes that are not UTF-8.",
        "--path checkpoint_best.pt --min-confidence 0.9 --protect 'https?://\\S+' "
        "--protect-words names.txt --edits edits.jsonl < noisy > clean",
    )
    parser.usage = (
        "%(prog)s --path CHECKPOINT [options] [FILE ...] > clean\n"
        "       %(prog)s --path CHECKPOINT [options] FILE|FOLDER ... --output-dir OUT"
    )
    add = adder(parser)
    add(
        "files FILE",
        "noisy text, corrected in this order; - is standard input (default: standard input); with "
        "--output-dir also folders. A line end is added only behind a file whose last line has "
        "none, where another file follows",
        nargs="*",
    )
    _add_model(parser)
    _add_choice(parser)
    _add_ranking(parser)
    _add_output(parser)
    return parser


def _add_output(parser: argparse.ArgumentParser) -> None:
    add = adder(parser.add_argument_group("output and speed"))
    add(
        "--output-dir DIR",
        "write each file to one of its name in DIR, folders with all below them; what is there "
        "already is finished and skipped",
    )
    add("--skip-invalid", "of --output-dir: leave out files that are not UTF-8 (default: correct "
        "none)")  # fmt: skip
    add(
        "--edits FILE",
        "also write every edit, made or not, as one JSON object a line; whole or not at all. With "
        "--output-dir - is standard output, also for --csv and --html",
    )
    add(
        "--csv FILE",
        "also write the words that each edit changes as a table: file, line, before, after, "
        "probability, applied",
    )
    add("--html FILE", "also write a page that shows every edit in its line")
    add(
        "--html-lines",
        "of --html: lines that changed, lines with edits, made or not, or all (default: changed)",
        choices=LINES,
    )
    add("--batch-size N", "units at once (default: 64)", 64)
    add(
        "--buffer N",
        "lines that are in memory and corrected together; 1 answers each line at once (default: "
        "1024, and 1 on a terminal)",
        1024,
    )
    add("--device NAME", "such as cuda (default: cpu)")
    add(
        "--precision",
        "bf16 and int8 (CPU) are faster and may change what is corrected (default: fp32)",
        "fp32",
        choices=("fp32", "bf16", "int8"),
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    add = adder(parser.add_argument_group("model"))
    add(
        "--path CHECKPOINT",
        "of task translation_edit, translation, translation_concat or noisy_translation, or a "
        "folder with one; a.pt:b.pt is an ensemble",
        required=True,
    )
    add_model_data(add, "; none for none")
    add("--beam N", "left-to-right models: width of the search (default: tuned, else 5)", type=int)
    add("--max-iter N", "edit models: most iterations (default: tuned, else 10)", type=int)
    add(
        "--delete-threshold P",
        "edit models: a token goes when its probability of deletion is above this (default: as "
        "it was tuned, else as the model was trained)",
        type=float,
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    add = adder(parser.add_argument_group("what is read and what is changed"))
    add(
        "--unit KIND",
        "what the model reads at once: word, letters, line, sentence or window (default: as "
        "tuned, else letters with --lexicon or --lookup, word for a model of characters that "
        "knows no space, else window, or line for a checkpoint that says no number of words)",
    )
    add("--window N", "words in a window (default: as the model learnt to read)", type=int)
    add(
        "--min-confidence P",
        "make only edits of at least this probability (default: as tuned, else 0, all)",
        type=float,
    )
    add(
        "--protect REGEX",
        "make no edit that touches what this regular expression of Python's matches; may be given "
        "again",
        action="append",
    )
    add(
        "--protect-words FILE",
        "file of words or phrases, one a line, that stay where they stand as whole words in this "
        "spelling, besides those that --tune was given",
    )


def _add_ranking(parser: argparse.ArgumentParser) -> None:
    add = adder(parser.add_argument_group("ranking and tuning"))
    add(
        "--lexicon FILE",
        "words, one a line, with or without a count: candidates for what is not among them",
    )
    add("--lookup FILE", "known misspellings: wrong, tab, right, one pair a line")
    add("--bigrams FILE", "two neighbouring words and their count on each line: candidates are "
        "ranked by their neighbours too")  # fmt: skip
    add("--confusions FILE", "words that are written for one another, two or more a line (then "
        "than): the neighbours say which was meant; needs --bigrams")  # fmt: skip
    add(
        "--weight NAME=VALUE",
        "of the ranking, in place of what the settings say; of --tune: where it begins; may be "
        "given again",
        action="append",
    )
    add(
        "--settings FILE",
        "what --tune wrote; none for none (default: corrector.json beside the checkpoint)",
    )
    add(
        "--tune",
        "correct nothing: choose the threshold on these files, and write it, with lexicon, "
        "look-up table, bigrams, confusions and protected words, beside the checkpoint, where "
        "correct finds them",
        metavar=("NOISY", "CLEAN"),
        nargs=2,
    )
    add("--tune-weights", "of --tune: choose the weights of ranking too")
    add(
        "--png FILE",
        "of --tune: also draw what thresholds give, and a reliability diagram; needs matplotlib",
    )
    add(
        "--goal GOAL",
        "of --tune: changed:N (most corrections with at most N per cent of the right words "
        "changed), f0.5 or accuracy (default: changed:1)",
        "changed:1",
    )


def weights(given: Sequence[str]) -> dict[str, float]:
    """``NAME=VALUE`` each; whether there is such a weight is for the ranking to say.

    Raises:
        UserError: another text.
    """
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        if not (name and math.isfinite(found[name])):
            raise UserError(f"--weight {text}: give a name and a number, as in frequency=0.1")
    return found


def check(args: argparse.Namespace) -> None:
    """What can be told without the model."""
    from ..inference.correction.corrector import check_confidence, check_unit

    check_unit(args.unit, args.window)
    weights(args.weight or ())
    if args.min_confidence is not None:
        check_confidence(args.min_confidence)
    if args.tune:
        _check_tuning(args)
    for name in ("png", "tune_weights"):
        if getattr(args, name) and not args.tune:
            raise UserError(f"--{name.replace('_', '-')} needs --tune NOISY CLEAN")
    at_least_one(args, "batch_size", "buffer")
    if args.html_lines and not args.html:
        raise UserError(f"--html-lines {args.html_lines} needs --html FILE")
    if args.output_dir is None:
        _check_files(args)
    elif not args.files or STANDARD_STREAM in args.files:
        raise UserError("--output-dir needs files or folders, and cannot take standard input")
    _check_standard_output(args)
    check_reports(args, {"--protect-words": [args.protect_words] if args.protect_words else []})


def _check_standard_output(args: argparse.Namespace) -> None:
    """It takes one thing: the corrected text, or with --output-dir one report."""
    there = [flag for flag in REPORTS if getattr(args, flag) == STANDARD_STREAM]
    if there and args.output_dir is None:
        raise UserError(
            f"--{there[0]} -: standard output gets the corrected text; name a file, or have the "
            "text in a folder: --output-dir DIR"
        )
    if len(there) > 1:
        raise UserError(f"--{there[0]} - and --{there[1]} -: standard output takes one of them")


def _check_tuning(args: argparse.Namespace) -> None:
    """--tune corrects nothing, so it takes nothing to correct and writes no report."""
    from ..inference.correction.tuning import Goal

    Goal.parse(args.goal)
    given = {"FILE": args.files, "--output-dir": args.output_dir, "--edits": args.edits}
    given |= {"--csv": args.csv, "--html": args.html, "--protect": args.protect}
    for name, value in given.items():
        if value:
            raise UserError(f"--tune corrects nothing: leave {name} out, and correct afterwards")
    if args.png:
        require_matplotlib()


def _check_files(args: argparse.Namespace) -> None:
    """The files of a run to standard output."""
    if args.skip_invalid:
        raise UserError("--skip-invalid needs --output-dir; without it all bytes pass through")
    for path in args.files:
        if os.path.isdir(path):
            raise UserError(f"{path}: is a folder; give a text file, or --output-dir OUT with it")
    require_readable(args.files)
    check_reports(args, {"the input": args.files})
