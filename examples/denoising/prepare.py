"""Makes the data of a denoiser; prepare.sh calls it when it has seen that all files are there.

DATA holds {train,dev,test}.clean, plain text, and elsewhere.clean where text of another source is
to be tested too. OUT gets the splits of --task noisy_translation, one dictionary for both sides.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fairseq.data import Dictionary

from lev_plugins.cli import noise
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_lines

PARTS = {"train": "train", "dev": "valid", "test": "test", "elsewhere": "test-elsewhere"}
KINDS = ("random", "keyboard", "swap", "delete")
SEEN = 3  # noisy copies of the training text in which the dictionary's symbols are counted


def main(argv: Sequence[str] | None = None) -> None:
    """Text, noise, dictionary."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("data", type=Path, help="folder of the text; gets some files more")
    add("out", type=Path, help="folder that gets the data")
    add("--words", type=int, default=0, help="words in a segment (default: 0, not cut)")
    add("--test-lines", type=int, default=0, help="segments of test (default: 0, all)")
    add("--valid-lines", type=int, default=0, help="segments of dev (default: 0, all)")
    args = parser.parse_args(argv)
    for part, split in PARTS.items():
        path, out = args.data / f"{part}.clean", args.out / f"{split}.clean"
        if path.is_file():
            lines = list(cut(read_lines(str(path)), args.words))
            if not lines:
                raise UserError(f"{path}: there is no word in it")
            count = {"train": 0, "valid": args.valid_lines}.get(split, args.test_lines)
            text = "".join(line + "\n" for line in spread(lines, count))
            out.write_text(text, encoding="utf-8")
            if split.startswith("test"):
                fixed_noise(out)
    clean = args.out / "train.clean"
    seen = [write_noisy(clean, args.data / f"seen-{n}", "all", n) for n in range(1, SEEN + 1)]
    symbols = dictionary(line for text in (clean, *seen) for line in read_lines(str(text)))
    for side in ("noisy", "clean"):
        symbols.save(str(args.out / f"dict.{side}.txt"))


def cut(lines: Iterable[str], words: int) -> Iterator[str]:
    """Segments of so many words of each line, a last one of fewer; none of lines without a word."""
    for line in lines:
        tokens = line.split()
        size = words or len(tokens) or 1
        for first in range(0, len(tokens), size):
            yield " ".join(tokens[first : first + size])


def spread(lines: list[str], count: int) -> list[str]:
    """So many of the lines, in order, at equal distances; all where there are fewer, or for 0."""
    if not 0 < count < len(lines):
        return lines
    return [lines[number * len(lines) // count] for number in range(count)]


def write_noisy(clean: Path, noisy: Path, kind: str, seed: int) -> Path:
    """A text with noise."""
    places = ["--input", str(clean), "--output", str(noisy)]
    noise.main(["--kind", kind, "--seed", str(seed), *places])
    return noisy


def fixed_noise(clean: Path) -> None:
    """TEST.clean becomes TEST-KIND.noisy and TEST-KIND.clean of each kind."""
    for kind in KINDS:
        copy = clean.with_name(f"{clean.stem}-{kind}.clean")
        shutil.copyfile(clean, copy)
        write_noisy(clean, copy.with_suffix(".noisy"), kind, 1)
    clean.unlink()


def dictionary(lines: Iterable[str]) -> Dictionary:
    """The characters, the most frequent first, and a mask symbol for the skip gate."""
    symbols = Dictionary()
    for line in lines:
        for symbol in line.replace(" ", "▁"):
            symbols.add_symbol(symbol)
    symbols.finalize()
    if symbols.index("<mask>") == symbols.unk():
        symbols.add_symbol("<mask>")
    return symbols


if __name__ == "__main__":
    run_cli(main)
