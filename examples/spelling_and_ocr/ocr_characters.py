"""Cuts noisy and clean text into characters; prepare_ocr.sh calls it.

    python examples/spelling_and_ocr/ocr_characters.py TEXT OUT WORDS [--made-up NOISY CLEAN]

TEXT holds {train,dev,test}.{noisy,clean}. OUT gets the same files with a space between all
characters and ``▁`` for the spaces that were there, and {train,dev,test}.draft, the noisy side
again: y0. WORDS above 0 cuts lines into segments of about so many words. The lines of --made-up
are segments for training; train's own are then repeated until they are a third of all.
"""

import argparse
import sys
from pathlib import Path

from ocr_pieces import paired_pieces
from prepare_codespell import SPACE, as_characters, whole_number

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.text_files import read_parallel

PARTS, SIDES = ("train", "dev", "test"), ("noisy", "clean")
LONGEST = 1000  # characters; the models count 1024 positions with <s> and </s>


def main() -> None:
    """Check all text, then write all characters."""
    parser = argparse.ArgumentParser(description="Cut noisy and clean text into characters.")
    parser.add_argument("text", type=Path, help="folder of the text")
    parser.add_argument("out", type=Path, help="folder for the characters; it has to be there")
    parser.add_argument("words", type=whole_number(0), help="words a segment; 0: whole lines")
    parser.add_argument("--made-up", nargs=2, metavar=("NOISY", "CLEAN"), help="more segments")
    args = parser.parse_args()
    files: dict[str, list[str]] = {}
    for part in PARTS:
        paths = [str(args.text / f"{part}.{side}") for side in SIDES]
        for number, lines in enumerate(read_parallel(paths), start=1):
            for path, line in zip(paths, lines, strict=True):
                _check(path, number, line)
            for noisy, clean in paired_pieces(lines[0], lines[1], args.words):
                files.setdefault(f"{part}.noisy", []).append(as_characters(noisy))
                files.setdefault(f"{part}.clean", []).append(as_characters(clean))
        if f"{part}.noisy" not in files:
            raise UserError(f"no lines in {', '.join(paths)}; give files with text in them")
    if args.made_up:
        more = list(zip(*read_parallel(args.made_up), strict=True))
        times = max(1, round(len(more[0]) / (2 * len(files["train.noisy"]))))
        for side, lines in zip(SIDES, more, strict=True):
            files[f"train.{side}"] = [
                *times * files[f"train.{side}"],
                *map(as_characters, lines),
            ]
    for part in PARTS:
        files[f"{part}.draft"] = files[f"{part}.noisy"]
    for name, cut in files.items():
        with open(args.out / name, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in cut)


def _check(path: str, number: int, line: str) -> None:
    """Raise where a character would not come back as it went in, or a line is too long."""
    where = f"{path}: line {number}"
    if SPACE in line:
        raise UserError(
            f"{where} holds {SPACE} (U+2581), which stands for a space here; replace it"
        )
    for character in line:
        if character.isspace() and character != " ":
            raise UserError(
                f"{where} holds U+{ord(character):04X}, a space of another kind, which would be "
                "lost between the characters; write a plain space"
            )
    if len(line) > LONGEST:
        raise UserError(
            f"{where} has {len(line)} characters; cut text into lines of {LONGEST} at most"
        )


if __name__ == "__main__":
    sys.exit(run_cli(main))
