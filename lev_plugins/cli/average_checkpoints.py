"""Average the parameters of several checkpoints of one training.

    python -m lev_plugins.cli.average_checkpoints checkpoints --last 5 --output average.pt

The mean of the last checkpoints often does better than each of them (Vaswani et al., 2017, §6.1).
Everything but the parameters (options, dictionaries) is that of the newest checkpoint; the
optimizer's state, of which there is no mean, is left out: the result is for decoding, or to start
another training from.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..inference.averaging import average, numbered, save
from .options import adder, make_parser


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "average_checkpoints",
        "Average the parameters of several checkpoints of one training.",
        "checkpoints --last 5 --output checkpoints/average.pt",
    )
    add = adder(parser)
    add(
        "checkpoints PATH",
        "checkpoints, the newest last; or one folder, which stands for its numbered checkpoints "
        "(checkpoint_1_500.pt …, else checkpoint1.pt …) in their order",
        nargs="+",
    )
    add("--output FILE", "the average; written whole or not at all", required=True)
    add("--last N", "only the last N of them (default: all)", type=int)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    paths = chosen(args.checkpoints, args.last)
    _check_output(args.output, paths)
    save(average(paths), args.output)
    print(f"{args.output}: the average of {', '.join(map(str, paths))}")
    return 0


def chosen(named: Sequence[str], last: int | None = None) -> list[Path]:
    """The checkpoints to average, the newest last.

    Args:
        named: files, or one folder.
        last: how many of them; None for all.

    Raises:
        UserError: a file that is not there, named twice, or fewer than are wanted.
    """
    if len(named) == 1 and os.path.isdir(named[0]):
        paths = numbered(Path(named[0]))
        if not paths:
            raise UserError(
                f"{named[0]} holds no numbered checkpoints; train with --save-interval-updates and "
                "--keep-interval-updates, or name the files"
            )
    else:
        paths = [Path(name) for name in named]
    for path in paths:
        if not path.is_file():
            raise UserError(f"checkpoint {path} does not exist")
        if sum(os.path.samefile(path, other) for other in paths if other.is_file()) > 1:
            raise UserError(f"checkpoint {path} is named twice")
    if last is not None and not 1 <= last <= len(paths):
        raise UserError(
            f"--last {last}: there are {len(paths)} checkpoints; give 1 to {len(paths)}"
        )
    return paths if last is None else paths[-last:]


def _check_output(output: str, paths: Sequence[Path]) -> None:
    """Before anything is read: that the average will find its place."""
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise UserError(f"--output {output}: no folder {folder}; make it: mkdir -p {folder}")
    if os.path.isdir(output):
        raise UserError(f"--output {output} is a folder; name a file in it")
    if any(os.path.exists(output) and os.path.samefile(output, path) for path in paths):
        raise UserError(f"--output {output} is one of the checkpoints; give it another name")


if __name__ == "__main__":
    run_cli(main)
