"""Writes the quickstart's data: misspellings, right words, a lexicon, and lists to measure with.

    python examples/spelling_and_ocr/prepare_typos.py OUT_DIR

From three packages that pip installs: ``codespell`` (real misspellings, derived from Wikipedia,
CC BY-SA 3.0: only its lines with one correction and no reason are read), ``symspellpy`` (82,765
English words and 242,342 pairs of neighbouring ones with their frequencies, MIT licence) and
``pyspellchecker`` (160,572 words with theirs, American spellings such as *colors* among them, which
symspellpy lacks, MIT licence). In small letters.

OUT_DIR gets, of characters with spaces between them (a space inside is ``▁``):

    train, valid, test × .typo .draft .word   train: listed misspellings, made-up ones
                                              (made_up_typos.py) and right words left as they are,
                                              frequent words more often; valid and test: listed
                                              misspellings that are nowhere in train

and as plain text:

    lexicon.txt    words and counts         lookup.tsv       train's listed misspellings
    dev.noisy      to tune with: valid's misspellings, running text, and words that are nowhere
                   else, about as many as are in no lexicon in ordinary running text
    dev.clean      the same without errors
    words.txt      the often misspelt words
    bigrams.txt    neighbouring words and counts
    confusions.txt words that are written for one another (then, than)
    test_*.noisy, test_*.clean              to measure with

Of the lists to measure with ``heldout`` are test's misspellings, ``everyday`` is a list of this
project (everyday.tsv), ``known`` are right words of the lexicon, ``unknown`` right words that are
neither in it nor in train, ``running`` is English text that comes with Python (pydoc_data),
``inside`` the same with test's misspellings in it, and ``confused`` with words for others that
exist too.
"""

import gzip
import importlib.metadata
import importlib.resources
import json
import random
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lists import parser_of, write_lines
from made_up_typos import Pair, Typist

from lev_correct.words.lexicon import confusions as others_of
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli

FREQUENCIES = "frequency_dictionary_en_82_765.txt"
BIGRAMS = "frequency_bigramdictionary_en_243_342.txt"
MORE_WORDS = ("resources", "en.json.gz")
EVERYDAY = Path(__file__).with_name("everyday.tsv")
CONFUSIONS = Path(__file__).with_name("confusions.txt")
HELD_OUT = 1500  # listed misspellings to tune with, and as many to measure with
AT_LEAST = 10  # misspellings of a word that is often misspelt
SPACE = "▁"
UNKNOWN = 500  # words to measure with
OUTSIDE = 70  # in running text one word in so many is in no lexicon; so it is in what is tuned on
RARE = 60_000  # words of a lower rank may be held out
UNCOUNTED = 20_000  # the count of words without one
MISSPELT = 0.25  # of the words in running text of which there are misspellings or others
WORD = re.compile(r"\b[a-z]+(?:'[a-z]+)?")
CONTRACTIONS = (
    "can't won't don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't wouldn't "
    "couldn't shouldn't mustn't needn't mightn't ain't let's"
).split()
# shares of the training lines, and how much frequent words lead in the last two
LISTED_OFTEN, LISTED, MADE_UP, RIGHT = 0.22, 0.13, 0.42, 0.23
MADE_UP_POWER, RIGHT_POWER, OFTEN_MORE = 0.4, 0.35, 10


@dataclass(frozen=True)
class Words:
    """counts: the lexicon. often: words that are often misspelt. unknown: right words that are
    held out from everything. listed: misspellings for training. held: valid and test."""

    counts: Mapping[str, float]
    often: Sequence[str]
    unknown: Sequence[str]
    listed: Sequence[Pair]
    held: Mapping[str, Sequence[Pair]]


def installed(package: str, module: str, *path: str) -> bytes:
    """A file that a package brings.

    Raises:
        UserError: it is not installed.
    """
    try:
        return importlib.resources.files(module).joinpath(*path).read_bytes()
    except ModuleNotFoundError:
        raise UserError(
            f"{package} is not installed and its words are data: pip install {package}"
        ) from None


def installed_lines(name: str) -> list[str]:
    """Lines of a file that symspellpy brings."""
    return installed("symspellpy", "symspellpy", name).decode("utf-8-sig").splitlines()


def installed_frequencies() -> dict[str, float]:
    """Words and how often each is met: symspellpy's, and pyspellchecker's others at its scale.

    The counts of contractions (don't) are pyspellchecker's: symspellpy has stand-ins for them.
    """
    counts = {word: float(count) for word, count in map(str.split, installed_lines(FREQUENCIES))}
    more = json.loads(gzip.decompress(installed("pyspellchecker", "spellchecker", *MORE_WORDS)))
    scale = statistics.median(counts[word] / more[word] for word in more if word in counts)
    for word, count in more.items():
        if WORD.fullmatch(word) and not word.endswith("'s") and (word not in counts or "'" in word):
            counts[word] = scale * count
    return counts


def listed_misspellings() -> list[Pair]:
    """The lines ``misspelling->word`` of codespell's dictionary that have one correction."""
    text = installed("codespell", "codespell_lib", "data", "dictionary.txt").decode()
    entries = [line.partition("->") for line in text.lower().splitlines() if line.strip()]
    return [(typo.strip(), word.strip()) for typo, _, word in entries if "," not in word]


def as_characters(text: str) -> str:
    """``"a lot"`` to ``"a ▁ l o t"``."""
    return " ".join(text.replace(" ", SPACE))


def everyday() -> list[Pair]:
    """This project's own list."""
    lines = EVERYDAY.read_text(encoding="utf-8").splitlines()
    return [(typo, word) for typo, word in (line.split("\t") for line in lines)]


def confusions() -> list[str]:
    """This project's own sets of words that are written for one another, one a line."""
    return CONFUSIONS.read_text(encoding="utf-8").splitlines()


def gather(rng: random.Random) -> Words:
    """Everything that is known about words, and what is held out of it."""
    pairs = listed_misspellings()
    times = Counter(word for _, word in pairs)
    often = sorted(pair for pair in pairs if times[pair[1]] >= AT_LEAST)
    dealt = list(often)
    random.Random(1).shuffle(dealt)
    held = {"valid": dealt[:HELD_OUT], "test": dealt[HELD_OUT : 2 * HELD_OUT]}
    wrong = {typo for typo, _ in pairs}
    hidden = {typo for group in (*held.values(), everyday()) for typo, _ in group}
    counts = {word: count for word, count in installed_frequencies().items() if word not in wrong}
    rare = sorted(counts, key=lambda word: -counts[word])[RARE:]
    corrections = {word for _, word in pairs}
    rare = [word for word in rare if len(word) > 3 and word.isalpha() and word not in corrections]
    unknown = rng.sample(rare, 2 * UNKNOWN)
    for word in unknown:
        del counts[word]
    for word in (*sorted(corrections), *CONTRACTIONS):
        if WORD.fullmatch(word):
            counts.setdefault(word, UNCOUNTED)
    listed = [
        (typo, word)
        for typo, word in pairs
        if typo not in hidden and re.fullmatch("[a-z']+", typo) and re.fullmatch("[a-z' ]+", word)
    ]
    return Words(counts, sorted({word for _, word in often}), unknown, listed, held)


def training_lines(words: Words, lines: int, rng: random.Random) -> list[Pair]:
    """Misspellings, listed and made up, and right words."""
    often = set(words.often)
    hidden = {typo for group in (*words.held.values(), everyday()) for typo, _ in group}
    parts = (
        (LISTED_OFTEN, [pair for pair in words.listed if pair[1] in often]),
        (LISTED, [pair for pair in words.listed if pair[1] not in often]),
    )
    pairs = [pair for share, group in parts for pair in rng.choices(group, k=int(share * lines))]
    typist = Typist(words.listed, rng)
    for word in sampled(words, MADE_UP_POWER, int(MADE_UP * lines), rng):
        typo = typist(word)
        if typo not in hidden and typo not in words.counts:
            pairs.append((typo, word))
    pairs += [(word, word) for word in sampled(words, RIGHT_POWER, int(RIGHT * lines), rng)]
    rng.shuffle(pairs)
    return pairs


def sampled(words: Words, power: float, number: int, rng: random.Random) -> list[str]:
    """Words of the lexicon, by their counts to a power; those often misspelt more often."""
    often = set(words.often)
    chosen = [word for word in words.counts if len(word) > 1]
    weights = [
        max(words.counts[word], 1) ** power * (OFTEN_MORE if word in often else 1)
        for word in chosen
    ]
    return rng.choices(chosen, weights, k=number)


def running_text() -> list[str]:
    """Lines of English prose that comes with Python, without code."""
    from pydoc_data.topics import topics

    lines = [line for text in topics.values() for line in text.splitlines()]
    prose = [line.strip() for line in lines if re.match(r" {0,3}[A-Za-z]", line)]
    return [line for line in prose if re.fullmatch(r"[A-Za-z ,.;'()-]{40,}", line)]


def misspelt(line: str, typos: Mapping[str, Sequence[str]], rng: random.Random) -> str:
    """A line with misspellings in the place of some words of which there are any."""

    def maybe(match: re.Match[str]) -> str:
        word = match[0]
        return rng.choice(typos[word]) if word in typos and rng.random() < MISSPELT else word

    return WORD.sub(maybe, line)


def lists(words: Words, rng: random.Random) -> dict[str, list[Pair]]:
    """What to tune and to measure with, as lines of plain text."""
    prose = running_text()
    middle = len(prose) // 2
    known = rng.sample(sorted(words.counts), 2 * UNKNOWN)
    frequent = rng.choices(list(words.counts), list(words.counts.values()), k=UNKNOWN)
    outside = sum(len(line.split()) for line in prose[:middle]) // OUTSIDE
    right = [*words.unknown[UNKNOWN:][:outside], *prose[:middle]]
    typos: dict[str, list[str]] = {}
    for typo, word in words.held["test"]:
        typos.setdefault(word, []).append(typo)
    others = others_of(line.split() for line in confusions())
    return {
        "dev": [*words.held["valid"], *((line, line) for line in right)],
        "test_heldout": list(words.held["test"]),
        "test_everyday": everyday(),
        "test_known": [(word, word) for word in [*known, *frequent]],
        "test_unknown": [(word, word) for word in words.unknown[:UNKNOWN]],
        "test_running": [(line, line) for line in prose[middle:]],
        "test_inside": [(misspelt(line, typos, rng), line) for line in prose[middle:]],
        "test_confused": [(misspelt(line, others, rng), line) for line in prose[middle:]],
    }


def write(
    words: Words, lines: Sequence[Pair], plain: Mapping[str, Sequence[Pair]], out: Path
) -> None:
    """Writes all files."""
    for name, pairs in {"train": lines, **words.held}.items():
        for ending, side in (("typo", 0), ("draft", 0), ("word", 1)):
            write_lines(out / f"{name}.{ending}", (as_characters(pair[side]) for pair in pairs))
    for name, pairs in plain.items():
        pairs = [pair for pair in pairs if len(pair[0].split()) == len(pair[1].split())]
        for ending, side in (("noisy", 0), ("clean", 1)):
            write_lines(out / f"{name}.{ending}", (pair[side] for pair in pairs))
    write_lines(
        out / "lexicon.txt",
        (f"{word} {int(count)}" for word, count in sorted(words.counts.items())),
    )
    write_lines(out / "lookup.tsv", (f"{typo}\t{word}" for typo, word in words.listed))
    write_lines(out / "bigrams.txt", installed_lines(BIGRAMS))
    write_lines(out / "confusions.txt", confusions())
    write_lines(out / "words.txt", words.often)


def main() -> None:
    """Gather, then write."""
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("out_dir", type=Path, help="the folder to write into")
    add("--lines", type=int, default=300_000, help="of training (default: 300000)")
    args = parser.parse_args()
    rng = random.Random(1)
    words = gather(rng)
    lines = training_lines(words, args.lines, rng)
    write(words, lines, lists(words, random.Random(1)), args.out_dir)
    sources = ("codespell", "symspellpy", "pyspellchecker")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in sources]
    same = sum(typo == word for typo, word in lines)
    print(
        f"{', '.join(versions)}: {len(words.counts):,} words, {len(words.listed):,} listed "
        f"misspellings for training\n{args.out_dir}: {len(lines):,} training lines, "
        f"{same:,} of them right words"
    )


if __name__ == "__main__":
    run_cli(main)
