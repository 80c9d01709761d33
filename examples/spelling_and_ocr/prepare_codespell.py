"""Writes the quickstart's data: real misspellings from codespell's dictionary, as characters.

    python examples/spelling_and_ocr/prepare_codespell.py OUT_DIR

The PyPI package ``codespell`` (the program: GPL-2.0; its dictionary, derived from Wikipedia:
CC BY-SA 3.0) carries one line per misspelling::

    acommodate->accommodate                one correction
    aache->cache, ache,                    several, each followed by a comma
    clas->class, disabled because of …     one, with a reason after the comma

Only lines of the first kind are read, and of those the words with at least ten misspellings are
kept: what people misspell most. Upper and lower case stay as they are.

Each of train, valid and test gets three aligned files, one misspelling a line:

    .typo    the source: the misspelling
    .draft   the draft the editor starts from, y0: the misspelling again
    .word    the target: the word meant

A line is its characters with spaces between them, a space inside is written ``▁`` (U+2581), as
sentencepiece does: ``a lot`` becomes ``a ▁ l o t``. Joining the tokens and writing ``▁`` as a space
gives the text back.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.resources
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

SPACE = "▁"
Pair = tuple[str, str]  # misspelling, word


def installed_dictionary() -> str:
    """The text of the dictionary that the installed codespell carries."""
    try:
        package = importlib.resources.files("codespell_lib")
    except ModuleNotFoundError:
        raise ValueError(
            "codespell is not installed and its dictionary is the data: pip install codespell"
        ) from None
    return (package / "data" / "dictionary.txt").read_text(encoding="utf-8")


def single_corrections(text: str) -> list[Pair]:
    """The lines ``misspelling->word`` of a codespell dictionary that have one correction and no
    reason after it. Raises ValueError, with the line's number, for a line without an arrow, an
    empty side, a second line for the same misspelling or a literal ``▁``."""
    meant: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        typo, arrow, correction = (part.strip() for part in line.partition("->"))
        if not (typo and arrow and correction) or SPACE in line or typo in meant:
            raise ValueError(
                f"line {number} of codespell's dictionary is not a new 'misspelling->word': "
                f"{line!r}; install the codespell that constraints.txt names"
            )
        meant[typo] = correction
    return [(typo, word) for typo, word in meant.items() if "," not in word]


def often_misspelled(pairs: Sequence[Pair], at_least: int) -> list[Pair]:
    """The pairs whose word has at least so many misspellings, in the order of the alphabet."""
    typos: dict[str, list[str]] = defaultdict(list)
    for typo, word in pairs:
        typos[word].append(typo)
    return sorted(
        (t, word) for word, found in typos.items() if len(found) >= at_least for t in found
    )


def split(pairs: Sequence[Pair], held_out: int, seed: int) -> dict[str, list[Pair]]:
    """Shuffles by the seed and deals: ``held_out`` pairs each to valid and test, the rest to train.

    The same pairs and seed give the same split on any machine. Raises ValueError where nothing
    would be left for training.
    """
    if len(pairs) <= 2 * held_out:
        raise ValueError(
            f"--held-out {held_out} needs more than {2 * held_out} pairs and there are "
            f"{len(pairs)}: lower --held-out or --min-misspellings"
        )
    dealt = list(pairs)
    random.Random(seed).shuffle(dealt)
    return {
        "valid": dealt[:held_out],
        "test": dealt[held_out : 2 * held_out],
        "train": dealt[2 * held_out :],
    }


def as_characters(text: str) -> str:
    """``"a lot"`` to ``"a ▁ l o t"``."""
    return " ".join(text.replace(" ", SPACE))


def write(splits: dict[str, list[Pair]], out: Path) -> None:
    """Writes all files beside their places first and then renames them: a failure on the way leaves
    what was there."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=out) as folder:
        for name, pairs in splits.items():
            typos = "".join(as_characters(typo) + "\n" for typo, _ in pairs)
            words = "".join(as_characters(word) + "\n" for _, word in pairs)
            for ending, lines in (("typo", typos), ("draft", typos), ("word", words)):
                (Path(folder) / f"{name}.{ending}").write_text(
                    lines, encoding="utf-8", newline="\n"
                )
        for path in sorted(Path(folder).iterdir()):
            os.replace(path, out / path.name)


def whole_number(least: int) -> Callable[[str], int]:
    """An argparse type: a whole number that is at least ``least``."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"a whole number from {least} up is needed, not {text!r}"
            )
        return int(text)

    return parse


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Write codespell's misspellings as train, valid and test files of characters."
    )
    parser.add_argument("out_dir", type=Path, help="the folder to write to, made if need be")
    parser.add_argument("--seed", type=whole_number(0), default=1, help="seed of the split")
    parser.add_argument(
        "--held-out", type=whole_number(1), default=1500, help="pairs each for valid and test"
    )
    parser.add_argument(
        "--min-misspellings",
        type=whole_number(1),
        default=10,
        help="keep the words with at least so many listed misspellings",
    )
    return parser.parse_args()


def main() -> None:
    args = arguments()
    try:
        pairs = often_misspelled(single_corrections(installed_dictionary()), args.min_misspellings)
        splits = split(pairs, args.held_out, args.seed)
        write(splits, args.out_dir)
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())
        sys.exit("error: " + "".join(one if one.isprintable() else "?" for one in said))
    version = importlib.metadata.version("codespell")
    words = len({word for _, word in pairs})
    print(
        f"codespell {version}: {len(pairs):,} misspellings of the {words:,} words with at least "
        f"{args.min_misspellings} each"
    )
    sizes = ", ".join(f"{name} {len(splits[name]):,}" for name in ("train", "valid", "test"))
    print(f"{args.out_dir}: {sizes} pairs as .typo, .word and .draft, characters as tokens")


if __name__ == "__main__":
    main()
