"""Makes the data of a denoiser; prepare.sh calls it when it has seen that all files are there.

DATA holds {train,dev,test}.clean and maybe {train,dev,test}.noisy, plain text, and elsewhere.clean
where text of another source is to be tested too. OUT gets the splits train, valid and test of
--task noisy_translation with one dictionary for both sides.
"""

import argparse
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fairseq.data import Dictionary

from lev_plugins.cli import backbone, noise
from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.text_files import read_lines

SPLITS = {"train": "train", "dev": "valid", "test": "test"}
ELSEWHERE = "elsewhere"
KINDS = ("random", "keyboard", "swap", "delete")
SEEN = 3  # noisy copies of the training text in which the dictionary's symbols are counted


def main(argv: Sequence[str] | None = None) -> None:
    """Text, noise, dictionary."""
    args = _arguments(argv)
    noisy = (args.data / "train.noisy").is_file()
    for part, split in SPLITS.items():
        if noisy:
            for side in ("noisy", "clean"):
                shutil.copyfile(args.data / f"{part}.{side}", args.out / f"{split}.{side}")
        else:
            _pieces(args, part, split)
    tests = ["test"]
    if (args.data / f"{ELSEWHERE}.clean").is_file():
        tests.append(f"test-{ELSEWHERE}")
        _pieces(args, ELSEWHERE, tests[-1])
    texts = [args.out / "train.clean"]
    texts += [args.out / "train.noisy"] if noisy else _noise(args, tests)
    mask = "[MASK]" if args.backbone else "<mask>"
    if args.backbone:
        texts = [_word_pieces(args, text) for text in texts]
    lines = (line for text in texts for line in read_lines(str(text)))
    found = dictionary(lines if args.backbone else map(characters, lines), mask)
    for side in ("noisy", "clean"):
        found.save(str(args.out / f"dict.{side}.txt"))


def cut(lines: Iterable[str], words: int) -> Iterator[str]:
    """Pieces of so many words of each line, a last one of fewer; none of lines without a word."""
    for line in lines:
        found = line.split()
        size = words or len(found) or 1
        for first in range(0, len(found), size):
            yield " ".join(found[first : first + size])


def spread(lines: list[str], count: int) -> list[str]:
    """So many of the lines, in order, at equal distances; all where there are fewer, or for 0."""
    if not 0 < count < len(lines):
        return lines
    return [lines[number * len(lines) // count] for number in range(count)]


def characters(line: str) -> str:
    """The line as fairseq's --bpe characters writes it."""
    return " ".join(line.replace(" ", "▁"))


def dictionary(lines: Iterable[str], mask: str) -> Dictionary:
    """The symbols of the lines, the most frequent first, and a mask symbol for the skip gate."""
    found = Dictionary()
    for line in lines:
        for symbol in line.split():
            found.add_symbol(symbol)
    found.finalize()
    if found.index(mask) == found.unk():
        found.add_symbol(mask)
    return found


def _pieces(args: argparse.Namespace, part: str, split: str) -> None:
    path = args.data / f"{part}.clean"
    pieces = list(cut(read_lines(str(path)), args.words))
    if args.lower:
        pieces = [piece.lower() for piece in pieces]
    counts = {"train": 0, "valid": args.valid_lines}
    pieces = spread(pieces, counts.get(split, args.test_lines))
    if not pieces:
        raise UserError(f"{path}: there is no word in it")
    text = "".join(piece + "\n" for piece in pieces)
    (args.out / f"{split}.clean").write_text(text, encoding="utf-8")


def _noise(args: argparse.Namespace, tests: Sequence[str]) -> list[Path]:
    """Fixed noisy test sets; noisy copies of the training text, for the dictionary."""
    for test in tests:
        clean = args.out / f"{test}.clean"
        for kind in KINDS:
            shutil.copyfile(clean, args.out / f"{test}-{kind}.clean")
            given = ["--input", str(clean), "--output", str(args.out / f"{test}-{kind}.noisy")]
            noise.main(["--kind", kind, "--seed", "1", *given])
        clean.unlink()
    seen = [args.data / f"seen-{seed}" for seed in range(1, SEEN + 1)]
    for seed, path in enumerate(seen, start=1):
        given = ["--input", str(args.out / "train.clean"), "--output", str(path)]
        noise.main(["--kind", "all", "--seed", str(seed), *given])
    return seen


def _word_pieces(args: argparse.Namespace, text: Path) -> Path:
    pieces = args.data / f"pieces-{text.name}"
    backbone.main([args.backbone, "--input", str(text), "--output", str(pieces)])
    return pieces


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of the text; gets some files more")
    parser.add_argument("out", type=Path, help="folder that gets the data")
    parser.add_argument("--words", type=int, default=0, help="words in a segment; 0: do not cut")
    parser.add_argument("--test-lines", type=int, default=0, help="pieces of the test set; 0: all")
    parser.add_argument("--valid-lines", type=int, default=0, help="pieces of the dev set; 0: all")
    parser.add_argument("--lower", action="store_true", help="small letters only")
    parser.add_argument("--backbone", help="folder of the BERT whose tokens are used")
    return parser.parse_args(argv)


if __name__ == "__main__":
    run_cli(main)
