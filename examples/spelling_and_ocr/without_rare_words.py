"""A list of words without some rare ones of a text, to tune a corrector with.

    python examples/spelling_and_ocr/without_rare_words.py WORDS TEXT [--without FILE] > FEWER

Every word of the text that a corrector was made from stands in its list, but not every word of
other texts. So that tuning meets right words that no list has, the rarest words of TEXT are left
out, until they are one in thirty of its words, and so are all words of FILE.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence

from lev_correct.text.units import spans
from lev_correct.words.lexicon import Lexicon
from lev_runtime.io.commands import run_cli
from lev_runtime.io.output import standard_output
from lev_runtime.io.text_files import read_lines

#: Words of a text, one in so many of which is to stand in no list.
ONE_IN = 30


def main(argv: Sequence[str] | None = None) -> None:
    """Writes the list to standard output, in its order."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", help="a word and its count on each line")
    parser.add_argument("text", help="right text")
    parser.add_argument("--without", metavar="FILE", help="words, one a line, that are left out")
    args = parser.parse_args(argv)
    counts = Lexicon.read(args.words).counts
    met: Counter[str] = Counter()
    for line in read_lines(args.text):
        met.update(line[start:end].lower() for start, end in spans(line, "letters"))
    gone = rarest(counts, met) | {*(read_lines(args.without) if args.without else ())}
    lines = (f"{word} {count:.10g}\n" for word, count in counts.items() if word not in gone)
    standard_output().writelines(lines)


def rarest(counts: Mapping[str, float], met: Counter[str]) -> set[str]:
    """The words of a list that are rarest in it, of those that a text has.

    Args:
        counts: words of the list, and how often each is met anywhere.
        met: words of the text, and how often it has each.
    """
    left = met.total() / ONE_IN
    gone: set[str] = set()
    for word in sorted(met.keys() & counts.keys(), key=lambda word: (counts[word], word)):
        left -= met[word]
        if left < 0:
            break
        gone.add(word)
    return gone


if __name__ == "__main__":
    run_cli(main)
