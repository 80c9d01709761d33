"""Counts the words of a text and its pairs of neighbouring words, as ``correct`` takes them.

    python examples/denoising/words.py TEXT WORDS PAIRS

WORDS is for ``--lexicon``, PAIRS for ``--bigrams``: in small letters, the most frequent first.
Words are letters, maybe with an apostrophe between; only spaces stand between neighbours.
"""

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_lines

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def main(argv: Sequence[str] | None = None) -> None:
    """Reads the text once and writes both files."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("text", "words", "pairs"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args(argv)
    words: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for line in read_lines(str(args.text)):
        words.update(WORD.findall(line.lower()))
        tokens = line.lower().split()
        pairs.update(
            f"{first} {second}"
            for first, second in zip(tokens, tokens[1:])
            if WORD.fullmatch(first) and WORD.fullmatch(second)
        )
    for path, counts in ((args.words, words), (args.pairs, pairs)):
        text = "".join(f"{name} {count}\n" for name, count in counts.most_common())
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    run_cli(main)
