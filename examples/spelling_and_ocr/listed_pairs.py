"""Writes misspellings and their words in three parts, as many as the PBD paper has.

    python examples/spelling_and_ocr/listed_pairs.py DATA

DATA gets {train,dev,test}.{noisy,clean}, a word a line, for prepare_ocr.sh: 31,172, 4,000 and 4,000
misspellings of codespell's list with one correction, of small letters. No misspelling is in two
parts, but a word may be, with other misspellings.
"""

import random
import re
from itertools import islice
from pathlib import Path

from english import listed_misspellings
from lists import parser_of, write_pairs

from lev_runtime.io.commands import run_cli

PARTS = {"train": 31_172, "dev": 4_000, "test": 4_000}


def main() -> None:
    """Reads the list and writes the parts."""
    parser = parser_of(__doc__)
    parser.add_argument("data", type=Path, help="folder to write")
    folder = parser.parse_args().data
    letters = re.compile("[a-z]+ [a-z]+")
    listed = sorted(
        (typo, word)
        for typo, word in set(listed_misspellings())
        if typo != word and letters.fullmatch(f"{typo} {word}")
    )
    pairs = iter(random.Random(1).sample(listed, sum(PARTS.values())))
    for part, size in PARTS.items():
        write_pairs(folder / part, islice(pairs, size))


if __name__ == "__main__":
    run_cli(main)
