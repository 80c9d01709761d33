"""What is wrong with a noisy text, and how much of it a lexicon could correct.

    python benchmarks/error_kinds.py NOISY CLEAN TRAIN.clean

Words of two files whose lines belong together are aligned, and every word of the noisy text that
has to become another is of one kind: other punctuation alone, other capitals alone, a word for a
word that TRAIN.clean has both, a clean word that TRAIN.clean lacks, or an unknown word for a known
one, which a lexicon can find. Spaces that are wrong, and words that are too many or missing, are a
kind of their own. Look at it before you train: a corrector of words reaches no more than this.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.io.text_files import read_lines  # noqa: E402
from lev_plugins.metrics.word_edits import word_edits  # noqa: E402

KINDS = (
    "punctuation alone",
    "capitals alone",
    "a known word for another",
    "the clean word is unknown",
    "an unknown word for a known one",
    "spaces, or words too many or missing",
)


def letters(word: str) -> str:
    """A word without punctuation and other symbols."""
    return "".join(filter(str.isalnum, word))


def kind(noisy: str, clean: str, known: set[str]) -> str:
    """Of one word that has to become another."""
    one, other = letters(noisy), letters(clean)
    if one == other:
        return KINDS[0]
    if one.lower() == other.lower():
        return KINDS[1]
    if other.lower() not in known:
        return KINDS[3]
    return KINDS[2] if one.lower() in known else KINDS[4]


def kinds(noisy: str, clean: str, known: set[str]) -> Iterator[str]:
    """Of each edit that a line needs."""
    words = noisy.split()
    for edit in word_edits(words, clean.split()):
        if edit.end - edit.start == len(edit.words) == 1:
            yield kind(words[edit.start], edit.words[0], known)
        else:
            yield KINDS[-1]


def table(found: Counter[str], words: int) -> str:
    """A line for each kind: how many edits, and their share."""
    total = max(found.total(), 1)
    lines = [f"{found.total():,} edits are needed in {words:,} words"]
    lines += [f"  {name:38}{found[name]:7,}{100 * found[name] / total:7.1f} %" for name in KINDS]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Count and print."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("noisy", type=Path)
    made.add_argument("clean", type=Path)
    made.add_argument("train", type=Path, help="clean text, whose words are known")
    args = made.parse_args(argv)
    noisy, clean = (list(read_lines(str(path))) for path in (args.noisy, args.clean))
    if len(noisy) != len(clean):
        raise UserError(
            f"{args.noisy} has {len(noisy):,} lines and {args.clean} {len(clean):,}: line n of "
            "both must belong together"
        )
    known = {letters(word).lower() for line in read_lines(str(args.train)) for word in line.split()}
    found = Counter(
        name for one, other in zip(noisy, clean, strict=True) for name in kinds(one, other, known)
    )
    print(table(found, sum(len(line.split()) for line in clean)))


if __name__ == "__main__":
    sys.exit(run_cli(main))
