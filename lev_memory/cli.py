"""Translation memory: train a model to edit fuzzy matches, and propose translations.

lev-memory prepare WORK --memory FOLDER
lev-memory train WORK
lev-memory evaluate WORK
lev-memory propose WORK FILE_OR_FOLDER
"""

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser, prog

PRECISION = 0.8


def _prepare(commands: Any) -> None:
    parser = commands.add_parser("prepare", help="make training data from a memory")
    parser.add_argument("work", metavar="WORK", type=Path, help="folder to make")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--memory",
        "--po",
        metavar="PLACE",
        type=Path,
        help="a folder with .po, XLIFF 1.2 and .tmx files, or one of them",
    )
    kind.add_argument(
        "--text", metavar="FILE", nargs=2, help="line-aligned sources and translations"
    )
    kind.add_argument(
        "--splits",
        metavar=("FOLDER", "SRC", "TGT"),
        nargs=3,
        help="data already split into train.SRC, train.TGT, valid.SRC and so on, plain or .gz; "
        "matches next to them (train.old, .draft, .sim; .old2 …) are used",
    )
    parser.add_argument("--language", metavar="CODE", help="target language, if PLACE has several")
    parser.add_argument(
        "--vocabulary", type=int, default=8000, help="number of subwords (default: 8000)"
    )
    parser.add_argument(
        "--like",
        metavar="WORK",
        type=Path,
        help="use the subwords of another memory, to start from its model",
    )


def _train(commands: Any) -> None:
    parser = commands.add_parser(
        "train",
        help="train the model, or resume",
        epilog="further flags go to fairseq-train",
        allow_abbrev=False,
    )
    parser.add_argument("work", metavar="WORK", type=Path, help="folder of prepare")
    parser.add_argument(
        "--minutes",
        type=float,
        default=60.0,
        help="CPU minutes of all stages together (default: 60)",
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    parser.add_argument(
        "--start",
        metavar="WORK",
        type=Path,
        help="start from the model of another memory, the one of prepare --like",
    )


def _precision(parser: argparse.ArgumentParser, text: str) -> None:
    options: Any = {"type": float, "default": PRECISION, "metavar": "SHARE"}
    parser.add_argument("--precision", help=f"{text} (default: {PRECISION})", **options)


def _propose(commands: Any) -> None:
    parser = commands.add_parser("propose", help="fill the fuzzy translations in files")
    parser.add_argument("work", metavar="WORK", type=Path, help="folder of prepare and train")
    parser.add_argument(
        "place",
        metavar="PLACE",
        type=Path,
        help="a .po or XLIFF 1.2 file, or a folder with such files",
    )
    parser.add_argument(
        "-o", "--output", metavar="PLACE", type=Path, help="write here and leave PLACE unchanged"
    )
    parser.add_argument("--memory", metavar="PLACE", type=Path, help="more files to match from")
    parser.add_argument(
        "--terms",
        metavar="FILE",
        type=Path,
        help="glossary of source<TAB>translation; proposals contain its terms",
    )
    _precision(parser, "share of proposals that must need fewer edits than the old text, on the "
                       "validation part")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="only report")
    parser.add_argument("--diff", action="store_true", help="print the changes, do not write them")
    parser.add_argument("--backup", action="store_true", help="keep the old file as FILE.bak")


def build_parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = Parser(
        prog=prog("memory"),
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _prepare(commands)
    _train(commands)
    evaluation = commands.add_parser("evaluate", help="choose settings, and score by similarity")
    evaluation.add_argument("work", metavar="WORK", type=Path, help="folder of prepare and train")
    _precision(evaluation, "share of proposals to report")
    _propose(commands)
    return parser


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line; ``extra`` is for fairseq-train."""
    parser = build_parser()
    args, extra = parser.parse_known_args(argv)
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
