"""Translation memory: train a model to edit fuzzy matches, and propose translations."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Add, adder, make_parser

#: each command and what it does
ABOUT = {
    "prepare": "Make training data from a memory.",
    "train": "Train the model, or resume.",
    "evaluate": "Choose settings, and score by similarity.",
    "propose": "Fill the fuzzy translations in files.",
}
USAGE = "prepare WORK --memory PATH\ntrain WORK\nevaluate WORK\npropose WORK PATH"


def _add_prepare(parser: argparse.ArgumentParser, add: Add) -> None:
    add("work WORK", "folder to make", type=Path)
    kind = adder(parser.add_mutually_exclusive_group(required=True))
    kind(
        "--memory --po PATH",
        "folder with .po, XLIFF 1.2 and .tmx files, or one of them",
        type=Path,
    )
    kind("--text FILE", "line-aligned sources and translations", nargs=2)
    kind(
        "--splits",
        "data already split into train.SRC, train.TGT, valid.SRC and so on, plain or .gz; matches "
        "next to them (train.old, .draft, .sim; .old2 …) are used",
        nargs=3,
        metavar=("FOLDER", "SRC", "TGT"),
    )
    add("--language CODE", "target language, if the memory has several")
    add("--vocabulary N", "number of subwords (default: 8000)", 8000)
    add(
        "--like WORK",
        "use the subwords of another memory, to start from its model",
        type=Path,
    )


def _add_train(parser: argparse.ArgumentParser, add: Add) -> None:
    add("work WORK", "folder of prepare; further options go to fairseq-train", type=Path)
    add("--minutes N", "CPU minutes of all stages together (default: 60)", 60.0)
    add("--seed N", "random seed (default: 1)", 1)
    add(
        "--start WORK",
        "start from the model of another memory, the one of prepare --like",
        type=Path,
    )


def _add_evaluate(parser: argparse.ArgumentParser, add: Add) -> None:
    add("work WORK", "folder of prepare and train", type=Path)
    add("--precision SHARE", "share of proposals to report (default: 0.8)", 0.8)


def _add_propose(parser: argparse.ArgumentParser, add: Add) -> None:
    add("work WORK", "folder of prepare and train", type=Path)
    add("place PATH", "a .po or XLIFF 1.2 file, or a folder with such files", type=Path)
    add("-o --output PATH", "write here and leave the files unchanged", type=Path)
    add("--memory PATH", "more files to match from", type=Path)
    add("--language CODE", "target language, if neither the files nor WORK say it")
    add(
        "--terms FILE",
        "glossary of source<TAB>translation; proposals contain its terms",
        type=Path,
    )
    add(
        "--precision SHARE",
        "share of proposals that must need fewer edits than the old text, on the validation part "
        "(default: 0.8)",
        0.8,
    )
    add("--dry-run", "only report")
    add("--diff", "print the changes, do not write them")
    add("--backup", "keep the old file as FILE.bak")


_ADD = {
    "prepare": _add_prepare,
    "train": _add_train,
    "evaluate": _add_evaluate,
    "propose": _add_propose,
}


def build_parser(command: str = "") -> argparse.ArgumentParser:
    """Returns the options of a command; without one, the parser of its name."""
    if command:
        parser = make_parser(f"memory {command}", ABOUT[command])
        _ADD[command](parser, adder(parser))
        return parser
    parser = make_parser("memory", __doc__ or "", usage=USAGE)
    order = "one after the other; COMMAND --help shows the options of one"
    commands = parser.add_subparsers(
        title="commands", description=order, dest="command", metavar="COMMAND", required=True
    )
    for name, about in ABOUT.items():
        commands.add_parser(name, help=about, add_help=False)
    return parser


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line; ``extra`` is for fairseq-train."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    if not words:
        parser.print_help(sys.stderr)
    args = parser.parse_args(words[:1])
    parser = build_parser(args.command)
    args, extra = parser.parse_known_args(words[1:], args)
    if extra and args.command != "train":
        parser.error(f"unrecognized arguments: {' '.join(extra)}")
    args.extra = extra
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns its status, 2 where files were left alone."""
    args = arguments(argv)
    return int(importlib.import_module(f".{args.command}", __package__).run(args))


def run_script() -> NoReturn:
    """Runs the command of this process and exits."""
    run_cli(main)
