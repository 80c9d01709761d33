"""Samples words of a list for a corrector to learn from, and writes them as text of a word a line.

    python examples/spelling_and_ocr/training_words.py WORDS FOLDER

WORDS has a word and its count on each line. FOLDER gets train.clean, dev.clean and test.clean, in
small letters, as the corrector asks its model for words. Rare words are met nearly as often as
frequent ones: a text has most of its words only once, and what people misspell is rarely frequent.
It also gets words to tune with: known.clean, sampled in the same way, and unknown.clean, rare ones
that none of the others has.

    python examples/spelling_and_ocr/training_words.py WORDS FOLDER --tune TEXT > FEWER

writes the list to tune with. Every word of the text that a corrector was made from stands in its
list, but not every word of other texts. So that tuning meets right words that no list has, the
rarest words of TEXT are left out, until they are one in thirty of its words, and so are those of
unknown.clean, unless ``--keep-unknown``.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from lists import parser_of, write_lines

from lev_correct.text.units import spans
from lev_correct.words.lexicon import Lexicon
from lev_runtime.io.commands import run_cli
from lev_runtime.io.output import standard_output
from lev_runtime.io.text_files import read_lines

#: Lines of each part.
LINES = {"train": 300_000, "dev": 300, "test": 300, "known": 400}
#: Unknown words, or one in so many of the list where it is short; the most frequent are none.
UNKNOWN, ONE_IN = 150, 100
#: Words of a text to tune with, one in so many of which is to stand in no list.
UNLISTED = 30
#: The power of a word's count by which it is sampled.
POWER = 0.4


def main(argv: Sequence[str] | None = None) -> None:
    """Reads the list and writes the text."""
    parser = parser_of(__doc__)
    parser.add_argument("words", help="a word and its count on each line")
    parser.add_argument("folder", type=Path, help="gets the text")
    parser.add_argument("--tune", metavar="TEXT", help="right text: write the list to tune with")
    parser.add_argument("--keep-unknown", action="store_true", help="in it, unknown.clean's words")
    args = parser.parse_args(argv)
    counts, rng = Lexicon.read(args.words).counts, random.Random(1)
    if args.tune:
        gone = rarest(counts, args.tune)
        if not args.keep_unknown:
            gone |= {*read_lines(str(args.folder / "unknown.clean"))}
        lines = (f"{word} {count:.10g}\n" for word, count in counts.items() if word not in gone)
        standard_output().writelines(lines)
        return
    unknown = {*rng.sample(rarer_half(counts), min(UNKNOWN, len(counts) // ONE_IN))}
    known = {word: count for word, count in counts.items() if word not in unknown}
    words = sampled(known, sum(LINES.values()), rng)
    write_lines(args.folder / "unknown.clean", map(str.lower, sorted(unknown)))
    for part, size in LINES.items():
        write_lines(args.folder / f"{part}.clean", map(str.lower, words[:size]))
        words = words[size:]


def rarer_half(counts: Mapping[str, float]) -> list[str]:
    """The half of the words that are met less often than the other half."""
    return sorted(counts, key=lambda word: (counts[word], word))[: len(counts) // 2]


def sampled(counts: Mapping[str, float], size: int, rng: random.Random) -> list[str]:
    """Words of two letters or more, by their counts to :data:`POWER`."""
    words = [word for word in counts if len(word) > 1]
    least = min(count for count in counts.values() if count > 0)
    weights = [max(counts[word], least) ** POWER for word in words]
    return rng.choices(words, weights, k=size)


def rarest(counts: Mapping[str, float], text: str) -> set[str]:
    """The words of a list that are rarest in it, of those that a text has."""
    met: Counter[str] = Counter()
    for line in read_lines(text):
        met.update(line[start:end].lower() for start, end in spans(line, "letters"))
    left = met.total() / UNLISTED
    gone: set[str] = set()
    for word in sorted(met.keys() & counts.keys(), key=lambda word: (counts[word], word)):
        left -= met[word]
        if left < 0:
            break
        gone.add(word)
    return gone


if __name__ == "__main__":
    run_cli(main)
