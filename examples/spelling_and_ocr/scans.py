"""Divides scans and their right text, and learns what was misread; make_corrector.sh calls it.

    python examples/spelling_and_ocr/scans.py NOISY CLEAN FOLDER

Line n of NOISY is the scan of line n of CLEAN; pairs of which a side is empty are left out. FOLDER
holds train.clean, right text from elsewhere. A twentieth of the lines, scans-test.noisy and .clean
in FOLDER, is held out. Of the rest FOLDER gets

- scans-train.clean, all of its right text;
- scans-words.noisy and .clean, word by word as a corrector asks for them, in small letters, which
  show the recogniser's confusions;
- scans.tsv, a table of the words that it misread and what they stood for;
- scans-tune.noisy and .clean, some lines to tune with, and scans-apart.tsv, the table of the other
  lines alone: so tuning finds out what a table is worth for lines that it was not made of.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from lists import parser_of, write_lines, write_pairs
from prepare_ocr import Pairs, misread
from rapidfuzz.distance import Levenshtein

from lev_correct.text.units import spans
from lev_runtime.errors import UserError, counted
from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_lines, read_parallel
from lev_runtime.text.words import aligned

#: Pairs of lines, at least.
LEAST = 100
#: A line in so many is held out.
ONE_IN = 20
#: Words to tune with, about: the model is asked for each that no list has.
TO_TUNE = 5_000
#: Share of a word's letters that may be misread: words beside each other need not belong together.
FARTHEST = 0.5


def main(argv: Sequence[str] | None = None) -> None:
    """Reads all lines, then writes."""
    parser = parser_of(__doc__)
    parser.add_argument("noisy", help="text as it was recognised")
    parser.add_argument("clean", help="the same as it should be")
    parser.add_argument("folder", type=Path, help="holds train.clean and gets the parts")
    args = parser.parse_args(argv)
    read = read_parallel([args.noisy, args.clean])
    pairs = [(noisy, clean) for noisy, clean in read if noisy.strip() and clean.strip()]
    if len(pairs) < LEAST:
        raise UserError(
            f"{args.noisy} and {args.clean} have {counted(len(pairs), 'line')} with text on both "
            f"sides: some hundred are needed, {LEAST} at least"
        )
    test = pairs[::ONE_IN]
    rest = [pair for number, pair in enumerate(pairs) if number % ONE_IN]
    apart, tune = rest[::2], rest[1::2]
    size = sum(len(clean.split()) for _, clean in tune)
    folder: Path = args.folder
    right = {word for line in read_lines(str(folder / "train.clean")) for word in as_asked(line)}
    write_pairs(folder / "scans-test", test)
    write_pairs(folder / "scans-tune", tune[:: math.ceil(size / TO_TUNE)])
    write_pairs(folder / "scans-words", words_of(rest))
    write_lines(folder / "scans-train.clean", (clean for _, clean in rest))
    for name, lines in {"scans-apart.tsv": apart, "scans.tsv": rest}.items():
        words = words_of(lines)
        write_lines(folder / name, misread(words, right | {clean for _, clean in words}))


def words_of(pairs: Pairs) -> list[tuple[str, str]]:
    """The words of lines, in small letters, as they were read and as they should be; not those that
    differ too much to belong together."""
    words: list[tuple[str, str]] = []
    for noisy, clean in pairs:
        before, after = as_asked(noisy), as_asked(clean)
        words += ((before[i], after[j]) for i, j in aligned(before, after))
    return [pair for pair in words if Levenshtein.normalized_distance(*pair) <= FARTHEST]


def as_asked(line: str) -> list[str]:
    """The words of a line that a corrector asks for, in small letters."""
    return [line[start:end].lower() for start, end in spans(line, "letters")]


if __name__ == "__main__":
    run_cli(main)
