"""Cuts noisy and clean text into characters and learns words and corrections; prepare_ocr.sh calls
it.

    python examples/spelling_and_ocr/prepare_ocr.py WORK WORDS

WORK/text holds {train,dev,test}.{noisy,clean}. WORK/characters gets the same files with a space
between all characters and ``▁`` for the spaces that were there. WORDS above 0 cuts lines into
segments of about so many words, between words that belong together on both sides.
WORK/lexicon.txt gets the words of the clean training text, WORK/lookup.tsv its corrections that are
the same four times in five, and WORK/text/test.look-up the test text with each word as it was
corrected most often in train and dev: what is to be beaten.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from lists import Pair, parser_of, write_lines, write_pairs

from lev_correct.text.units import core_of
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_parallel
from lev_runtime.text.words import aligned

MAJORITY = 0.8  # of the clean words of a noisy one are the same
TWICE = 2  # as often a word has to be misread that is right elsewhere
SPACE = "▁"
Pairs = Sequence[Pair]


def main() -> None:
    """Check all text, then write."""
    parser = parser_of(__doc__)
    parser.add_argument("work", type=Path, help="folder with text")
    parser.add_argument("words", type=int, help="words a segment; 0: whole lines")
    args = parser.parse_args()
    texts = {part: _read(args.work / "text", part) for part in ("train", "dev", "test")}
    for part, pairs in texts.items():
        segments = [segment for pair in pairs for segment in paired_pieces(*pair, args.words)]
        spaced = [(as_characters(noisy), as_characters(clean)) for noisy, clean in segments]
        write_pairs(args.work / "characters" / part, spaced)
    words = Counter(filter(None, (core_of(w) for _, line in texts["train"] for w in line.split())))
    write_lines(
        args.work / "lexicon.txt", sorted(f"{word} {count}" for word, count in words.items())
    )
    write_lines(args.work / "lookup.tsv", misread(texts["train"]))
    table = corrections([*texts["train"], *texts["dev"]])
    looked_up = (
        " ".join(table[word].most_common(1)[0][0] if word in table else word for word in line)
        for line in (noisy.split(" ") for noisy, _ in texts["test"])
    )
    write_lines(args.work / "text" / "test.look-up", looked_up)
    write_lines(args.work / "words", [str(args.words)])


def as_characters(text: str) -> str:
    """Returns ``"a ▁ l o t"`` for ``"a lot"``."""
    return " ".join(text.replace(" ", SPACE))


def corrections(pairs: Pairs) -> dict[str, Counter[str]]:
    """For each noisy word the clean words that it stood for."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for noisy, clean in pairs:
        before, after = noisy.split(), clean.split()
        for i, j in aligned(before, after):
            seen[before[i]][after[j]] += 1
    return seen


def misread(pairs: Pairs, right: Collection[str] = ()) -> Iterator[str]:
    """Yields rows of a table: a word as it was read, a tab, and the word that it stood for four
    times in five; twice at least where it is one of the ``right`` words as well."""
    for word, meant in sorted(corrections(pairs).items()):
        ((best, times),) = meant.most_common(1)
        is_sure = times >= MAJORITY * meant.total() and times >= TWICE * (word in right)
        if best != word and is_sure:
            yield f"{word}\t{best}"


def paired_pieces(noisy: str, clean: str, words: int) -> list[tuple[str, str]]:
    """Segments of at least ``words`` noisy words with the clean words that belong to them.

    A cut lies where the words on both its sides are aligned with neighbours on the clean side, so
    that no word is torn from what it was split from or run together with.
    """
    if not words:
        return [(noisy, clean)]
    before, after = noisy.split(" "), clean.split(" ")
    partner = dict(aligned(before, after))
    cuts = [(0, 0)]
    for i in range(1, len(before)):
        j = partner.get(i)
        if i - cuts[-1][0] >= words and j is not None and partner.get(i - 1) == j - 1:
            cuts.append((i, j))
    ends = [*cuts[1:], (len(before), len(after))]
    return [
        (" ".join(before[i:k]), " ".join(after[j:m]))
        for (i, j), (k, m) in zip(cuts, ends, strict=True)
    ]


def _read(text: Path, part: str) -> Pairs:
    """Noisy and clean lines; UserError where a character would not come back as it went in."""
    paths = [str(text / f"{part}.{side}") for side in ("noisy", "clean")]
    pairs = [(noisy, clean) for noisy, clean in read_parallel(paths)]
    if not pairs:
        raise UserError(f"no lines in {', '.join(paths)}; give files with text in them")
    for number, lines in enumerate(pairs, start=1):
        for path, line in zip(paths, lines, strict=True):
            odd = [
                character
                for character in line
                if character == SPACE or character.isspace() and character != " "
            ]
            if odd:
                raise UserError(
                    f"{path}: line {number} holds U+{ord(odd[0]):04X}, which would come back as a "
                    "plain space; replace it"
                )
    return pairs


if __name__ == "__main__":
    run_cli(main)
