"""Lines with words of a list, for a training text that has few words; prepare_ocr.sh calls it.

    python examples/spelling_and_ocr/ocr_words.py TEXT LIST OUT --lines 40000 --words 3

TEXT holds train.clean, LIST a word and its count on each line. OUT gets made_up.clean, segments
of the training text in which most words are replaced by words of the list, with the punctuation
and the capital that were there; and lexicon.txt, the words of both with their counts. Words with
letters that the training text lacks are left out, also from the lexicon.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from prepare_codespell import whole_number

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.inference.correction.lexicon import Lexicon
from lev_plugins.inference.correction.units import core_of
from lev_plugins.io.text_files import read_lines

REPLACED = 0.7  # of the words in a segment
POWER = 0.4  # frequent words lead less than in a text
LONGEST = 30  # letters


def main() -> None:
    """Read both, then write both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path, help="folder with train.clean")
    parser.add_argument("list", type=Path, help="words, one a line, with their counts or without")
    parser.add_argument("out", type=Path, help="folder to write to; it has to be there")
    parser.add_argument("--lines", type=whole_number(1), default=40_000, help="(default 40000)")
    parser.add_argument("--words", type=whole_number(1), default=3, help="of a line (default 3)")
    parser.add_argument("--seed", type=whole_number(0), default=1, help="random seed (default 1)")
    args = parser.parse_args()
    clean = list(read_lines(str(args.text / "train.clean")))
    listed = Lexicon.read(str(args.list)).counts
    known = spelled(listed, clean)
    if not known:
        raise UserError(
            f"{args.list}: no word of it is spelled with the letters of "
            f"{args.text / 'train.clean'}; give a list of the same language"
        )
    lines = made_up(known, clean, args.words, random.Random(args.seed))
    _write(args.out / "made_up.clean", (line for _, line in zip(range(args.lines), lines)))
    counts = together(known, clean)
    _write(args.out / "lexicon.txt", (f"{word} {counts[word]:.0f}" for word in sorted(counts)))
    print(f"{len(known):,} of the {len(listed):,} words of {args.list} are used")


def spelled(counts: Mapping[str, float], clean: Sequence[str]) -> dict[str, float]:
    """The words that are spelled with the letters of a text, large or small, and not too long."""
    seen = {*"".join(clean)}
    letters = seen | {letter.lower() for letter in seen} | {letter.upper() for letter in seen}
    return {
        word: count for word, count in counts.items() if len(word) <= LONGEST and letters >= {*word}
    }


def made_up(
    counts: Mapping[str, float], clean: Sequence[str], words: int, rng: random.Random
) -> Iterator[str]:
    """Segments of a text, without end, in which most words are others."""
    segments = [line.split() for line in clean if line.split()]
    chosen, weights = list(counts), list(accumulate(max(n, 1) ** POWER for n in counts.values()))
    while True:
        line = rng.choice(segments)
        start = rng.randrange(max(1, len(line) - words + 1))
        yield " ".join(
            dressed(rng.choices(chosen, cum_weights=weights)[0], word)
            if rng.random() < REPLACED
            else word
            for word in line[start : start + words]
        )


def dressed(word: str, like: str) -> str:
    """A word with another's punctuation around it and first capital."""
    inside = core_of(like)
    if not any(map(str.isalpha, inside)):
        return like
    capital = inside[0] != inside[0].lower()
    return like.replace(inside, word[:1].upper() + word[1:] if capital else word, 1)


def together(counts: Mapping[str, float], clean: Sequence[str]) -> Counter[str]:
    """The words of a list and of a text, which weighs as much as the list."""
    found = Counter(filter(None, (core_of(word) for line in clean for word in line.split())))
    scale = max(sum(counts.values()) / max(found.total(), 1), 1.0)
    return Counter(counts) + Counter({word: n * scale for word, n in found.items()})


def _write(path: Path, lines: Iterator[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(run_cli(main))
