"""Samples words of a list for a corrector to learn from, and writes them as text of a word a line.

    python examples/spelling_and_ocr/training_words.py WORDS FOLDER

WORDS has a word and its count on each line. FOLDER gets train.clean, dev.clean and test.clean, in
small letters, as the corrector asks its model for words. Rare words are met nearly as often as
frequent ones: a text has most of its words only once, and what people misspell is rarely frequent.
It also gets words to tune with: known.clean, sampled in the same way, and unknown.clean, rare ones
that none of the others has.
"""

import argparse
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from lev_correct.words.lexicon import Lexicon
from lev_runtime.io.commands import run_cli

#: Lines of each part.
LINES = {"train": 300_000, "dev": 300, "test": 300, "known": 400}
#: Unknown words, or one in so many of the list where it is short; the most frequent are none.
UNKNOWN, ONE_IN = 150, 100
#: The power of a word's count by which it is sampled.
POWER = 0.4


def main(argv: Sequence[str] | None = None) -> None:
    """Reads the list and writes the text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", help="a word and its count on each line")
    parser.add_argument("folder", type=Path, help="gets the text")
    args = parser.parse_args(argv)
    counts, rng = Lexicon.read(args.words).counts, random.Random(1)
    unknown = {*rng.sample(rarer_half(counts), min(UNKNOWN, len(counts) // ONE_IN))}
    known = {word: count for word, count in counts.items() if word not in unknown}
    words = sampled(known, sum(LINES.values()), rng)
    args.folder.mkdir(parents=True, exist_ok=True)
    write(args.folder / "unknown.clean", sorted(unknown))
    for part, size in LINES.items():
        write(args.folder / f"{part}.clean", words[:size])
        words = words[size:]


def write(path: Path, words: Sequence[str]) -> None:
    """A file of words in small letters, one a line."""
    path.write_text("".join(f"{word.lower()}\n" for word in words), encoding="utf-8")


def rarer_half(counts: Mapping[str, float]) -> list[str]:
    """The half of the words that are met less often than the other half."""
    return sorted(counts, key=lambda word: (counts[word], word))[: len(counts) // 2]


def sampled(counts: Mapping[str, float], size: int, rng: random.Random) -> list[str]:
    """Words of two letters or more, by their counts to :data:`POWER`."""
    words = [word for word in counts if len(word) > 1]
    least = min(count for count in counts.values() if count > 0)
    weights = [max(counts[word], least) ** POWER for word in words]
    return rng.choices(words, weights, k=size)


if __name__ == "__main__":
    run_cli(main)
