"""How many edits of post-editors recur: what an editor could at most learn by heart.

    bash examples/post_editing/prepare.sh DATA WORK
    python benchmarks/recurring_edits.py WORK/text --triples 875,1750,3500,7000

From the first N training drafts and post-edits every
edit of up to two words is taken as a rule, with no, one or both neighbours. A rule that was seen
twice and holds in at least half of the places where it fits is applied to the dev drafts: an edit
that it makes is right if the post-editor made the same one there. The no-edit baseline makes none.
"""

import argparse
import difflib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.io.text_files import read_lines  # noqa: E402

SEEN, HOLDS, WIDEST = 2, 0.5, 2
Words = tuple[str, ...]
Pair = tuple[Words, Words]


class Place(NamedTuple):
    """Where a rule fits: words and the neighbours that it asks for (None: any)."""

    before: str | None
    words: Words
    after: str | None


Span = tuple[int, int]
Rules = dict[Place, Words]  # what the words become


class Row(NamedTuple):
    """Rules found, and what they do on the dev set."""

    triples: int
    rules: int
    made: int
    right: int


def pairs(folder: Path, part: str) -> list[Pair]:
    """Drafts and post-edits, with the ends of a sentence as words."""
    sides = []
    for side in ("mt", "pe"):
        lines = read_lines(str(folder / f"{part}.{side}"))
        sides.append([("<s>", *line.split(), "</s>") for line in lines])
    if len(sides[0]) != len(sides[1]):
        raise UserError(f"{folder}/{part}: {len(sides[0])} drafts, {len(sides[1])} post-edits")
    return list(zip(*sides))


def edits(pair: Pair) -> set[tuple[Span, Words]]:
    """The draft's words that are replaced, and by what."""
    codes = difflib.SequenceMatcher(None, *pair, autojunk=False).get_opcodes()
    return {((i, k), pair[1][m:n]) for tag, i, k, m, n in codes if tag != "equal"}


def places(draft: Words, span: Span) -> Iterator[Place]:
    """The places that a span of a draft is, from the one that asks least."""
    start, end = span
    for before in (None, draft[start - 1]):
        for after in (None, draft[end]):
            if start < end or before or after:
                yield Place(before, draft[start:end], after)


def spans(draft: Words) -> Iterator[Span]:
    """Up to ``WIDEST`` words, and the gaps between words."""
    for start in range(1, len(draft)):
        for end in range(start, min(start + WIDEST, len(draft) - 1) + 1):
            yield start, end


def learn(training: Sequence[Pair]) -> Rules:
    """The rules that hold."""
    done = Counter(
        (place, new)
        for pair in training
        for span, new in edits(pair)
        if span[1] - span[0] <= WIDEST
        for place in places(pair[0], span)
    )
    often = {place for (place, _), count in done.items() if count >= SEEN}
    fits = Counter(place for draft, _ in training for place in _all_places(draft) if place in often)
    return {
        place: new
        for (place, new), count in done.items()
        if count >= SEEN and count > HOLDS * fits[place]
    }


def _all_places(draft: Words) -> Iterable[Place]:
    return (place for span in spans(draft) for place in places(draft, span))


def apply(rules: Rules, dev: Sequence[Pair]) -> tuple[int, int]:
    """Edits that the rules make, and how many of them the post-editors made."""
    made = right = 0
    for pair in dev:
        found = {
            (span, rules[place])
            for span in spans(pair[0])
            for place in places(pair[0], span)
            if place in rules
        }
        made += len(found)
        right += len(found & edits(pair))
    return made, right


def measure(training: Sequence[Pair], dev: Sequence[Pair], sizes: Sequence[int]) -> list[Row]:
    """A row for each number of triples."""
    rows = []
    for size in sizes:
        rules = learn(training[:size])
        rows.append(Row(size, len(rules), *apply(rules, dev)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with {train,dev}.{mt,pe}")
    parser.add_argument(
        "--triples", default="875,1750,3500,7000", help="sizes (default %(default)s)"
    )
    args = parser.parse_args()
    try:
        sizes = [int(size) for size in args.triples.split(",")]
    except ValueError:
        raise UserError(f"--triples {args.triples}: give numbers with commas") from None
    dev = pairs(args.data, "dev")
    print(f"{'triples':>8}{'rules':>8}{'edits made':>12}{'right':>8}   of dev's edits")
    total = sum(len(edits(pair)) for pair in dev)
    for row in measure(pairs(args.data, "train"), dev, sizes):
        print(
            f"{row.triples:8,}{row.rules:8,}{row.made:12,}{row.right:8,}   "
            f"{100 * row.right / total:.2f} % of {total:,}"
        )


if __name__ == "__main__":
    sys.exit(run_cli(main))
