"""Writes train.tsv, valid.tsv and test.tsv, lines of labels, tab and text; prepare.sh calls it.

python examples/classification/prepare.py KIND SOURCE TEXT [--tags upos] [--hold-out 10]
"""

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import texts
from texts import Example

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.systems.enct5.problem_types import ProblemType

PARTS = {"train": "train", "dev": "valid", "test": "test"}


def main(argv: Sequence[str] | None = None) -> None:
    """Read, check, write."""
    args = _arguments(argv)
    kind = ProblemType(args.kind)
    if kind is ProblemType.TAGGING:
        found = {part: _tagged(args, part) for part in PARTS}
    elif kind is ProblemType.MULTILABEL:
        labels = texts.label_names(args.source / "labels.txt")
        shutil.copyfile(args.source / "labels.txt", args.text / "labels.txt")
        found = {part: texts.named(args.source / f"{part}.tsv", labels) for part in PARTS}
    else:
        found = _classified(args.source, args.hold_out)
    for part, examples in found.items():
        count = texts.write(args.text / f"{PARTS[part]}.tsv", examples, kind)
        print(f"{part}: {count:,} lines", file=sys.stderr)


def _tagged(args: argparse.Namespace, part: str) -> Iterable[Example]:
    path = args.source / f"{part}.conllu"
    if not path.is_file():
        return texts.tagged(args.source / f"{part}.tok", args.source / f"{part}.upos")
    examples, corrected = texts.conllu(path, args.tags)
    if corrected:
        print(f"{part}: {corrected:,} words hold a space and got _ for it", file=sys.stderr)
    return examples


def _classified(source: Path, hold_out: int) -> dict[str, list[Example]]:
    """The parts; without a test set, dev is the test set.

    Args:
        hold_out: then every line of train whose number it divides chooses the checkpoint; 0: dev
            does.

    Raises:
        UserError: nothing is left to choose by.
    """
    train, dev = (texts.classified(source / f"{part}.tsv") for part in ("train", "dev"))
    test = source / "test.tsv"
    if test.is_file():
        return {"train": train, "dev": dev, "test": texts.classified(test)}
    if hold_out == 0:
        return {"train": train, "dev": dev, "test": dev}
    held = train[hold_out - 1 :: hold_out]
    if not held:
        raise UserError(f"HOLD_OUT={hold_out}: train has {len(train)} lines; give less, or 0")
    del train[hold_out - 1 :: hold_out]
    print(f"dev is the test set; every {hold_out}. line of train chooses", file=sys.stderr)
    return {"train": train, "dev": held, "test": dev}


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = (ProblemType.TAGGING, ProblemType.MULTILABEL, ProblemType.CLASSIFICATION)
    parser.add_argument("kind", choices=[kind.value for kind in kinds])
    parser.add_argument("source", type=Path, help="folder of the files as they came, unpacked")
    parser.add_argument("text", type=Path, help="folder to write to")
    parser.add_argument("--tags", default="upos", help="of CoNLL-U: upos (default) or xpos")
    parser.add_argument("--hold-out", type=int, default=10, help="0, or 2 and more (default 10)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    run_cli(main)
