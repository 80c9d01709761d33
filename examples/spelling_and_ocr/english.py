"""Writes what make_corrector.sh makes a corrector of English of: words, misspellings and prose.

    python examples/spelling_and_ocr/english.py FOLDER

From three packages that pip installs: ``codespell`` (real misspellings, derived from Wikipedia,
CC BY-SA 3.0: only its lines with one correction and no reason are read), ``symspellpy`` (82,765
English words and 242,342 pairs of neighbouring ones with their frequencies, MIT licence) and
``pyspellchecker`` (160,572 words with theirs, American spellings such as *colors* among them, which
symspellpy lacks, MIT licence); and from the manual that comes with Python (pydoc_data). In small
letters, but for the manual. FOLDER gets

    words.txt, pairs.txt                words, and neighbouring ones, with their counts
    text/{dev,test}.clean               prose to tune with, and to measure with
    text/listed.{tsv,noisy,clean}       misspellings to learn from and to look up
    text/{tune,test}-listed.{noisy,clean}   misspellings that are nowhere else, 1,500 each
    text/{tune,test}-unknown.{noisy,clean}  right words that are in no list
"""

import gzip
import json
import random
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lists import Pair, installed, parser_of, write_lines, write_pairs

from lev_runtime.io.commands import run_cli

DICTIONARY = "frequency_dictionary_en_82_765.txt"
BIGRAMS = "frequency_bigramdictionary_en_243_342.txt"
EVERYDAY = Path(__file__).with_name("everyday.tsv")
#: Misspellings to tune with, and as many to measure with; right words to tune and to measure with:
#: the former one in thirty of the words of the prose to tune with.
HELD_OUT, UNKNOWN = 1500, (180, 500)
#: Misspellings of a word that is often misspelt, at least: only such are held out.
AT_LEAST = 10
RARE = 60_000  # words of a lower rank may be held out
UNCOUNTED = 20_000  # the count of words without one
WORD = re.compile(r"\b[a-z]+(?:'[a-z]+)?")
CONTRACTIONS = (
    "can't won't don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't wouldn't "
    "couldn't shouldn't mustn't needn't mightn't ain't let's"
).split()


def installed_lines(name: str) -> list[str]:
    """Returns the lines of a file that symspellpy brings."""
    return installed("symspellpy", "symspellpy", name).decode("utf-8-sig").splitlines()


def installed_frequencies() -> dict[str, float]:
    """Returns words and how often each is met, at symspellpy's scale.

    The counts of contractions (don't) are pyspellchecker's: symspellpy has stand-ins for them.
    """
    counts = {word: float(count) for word, count in map(str.split, installed_lines(DICTIONARY))}
    packed = installed("pyspellchecker", "spellchecker", "resources", "en.json.gz")
    more = json.loads(gzip.decompress(packed))
    scale = statistics.median(counts[word] / more[word] for word in more if word in counts)
    for word, count in more.items():
        if WORD.fullmatch(word) and not word.endswith("'s") and (word not in counts or "'" in word):
            counts[word] = scale * count
    return counts


def listed_misspellings() -> list[Pair]:
    """Returns codespell's ``misspelling->word`` lines that have one correction."""
    text = installed("codespell", "codespell_lib", "data", "dictionary.txt").decode()
    entries = [line.partition("->") for line in text.lower().splitlines() if line.strip()]
    return [(typo.strip(), word.strip()) for typo, _, word in entries if "," not in word]


def prose() -> list[str]:
    """Returns lines of English that come with Python, without code."""
    from pydoc_data.topics import topics

    lines = [line for text in topics.values() for line in text.splitlines()]
    text = [line.strip() for line in lines if re.match(r" {0,3}[A-Za-z]", line)]
    return [line for line in text if re.fullmatch(r"[A-Za-z ,.;'()-]{40,}", line)]


def divided(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Returns misspellings to tune with, to measure with, and to learn from."""
    times = Counter(word for _, word in pairs)
    often = sorted(pair for pair in pairs if times[pair[1]] >= AT_LEAST)
    random.Random(1).shuffle(often)
    held = [often[:HELD_OUT], often[HELD_OUT : 2 * HELD_OUT]]
    everyday = (line.split("\t")[0] for line in EVERYDAY.read_text("utf-8").splitlines())
    hidden = {*everyday, *(typo for part in held for typo, _ in part)}
    shape = re.compile("[a-z']+\t[a-z' ]+")
    return [
        *held,
        [pair for pair in pairs if pair[0] not in hidden and shape.fullmatch("\t".join(pair))],
    ]


def words_of(pairs: Sequence[Pair]) -> tuple[dict[str, float], list[str]]:
    """Returns words and their counts, and right words that are held out of them.

    pairs: misspellings, which are no words, and the words that they are of.
    """
    wrong, right = ({*side} for side in zip(*pairs))
    counts = {word: count for word, count in installed_frequencies().items() if word not in wrong}
    rare = sorted(counts, key=lambda word: -counts[word])[RARE:]
    rare = [word for word in rare if len(word) > 3 and word.isalpha() and word not in right]
    unknown = random.Random(1).sample(rare, sum(UNKNOWN))
    for word in unknown:
        del counts[word]
    for word in (*sorted(right), *CONTRACTIONS):
        if WORD.fullmatch(word):
            counts.setdefault(word, UNCOUNTED)
    return counts, unknown


def main() -> None:
    """Reads the packages and writes the folder."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="the folder to write into")
    folder = parser.parse_args().folder
    pairs = listed_misspellings()
    counts, unknown = words_of(pairs)
    tune, test, listed = divided(pairs)
    by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    write_lines(folder / "words.txt", (f"{word} {count:.0f}" for word, count in by_count))
    write_lines(folder / "pairs.txt", installed_lines(BIGRAMS))
    text, lines = folder / "text", prose()
    write_lines(text / "dev.clean", lines[: len(lines) // 2])
    write_lines(text / "test.clean", lines[len(lines) // 2 :])
    write_lines(text / "listed.tsv", map("\t".join, listed))
    write_pairs(text / "listed", listed)
    write_pairs(text / "tune-listed", tune)
    write_pairs(text / "test-listed", test)
    tune_words, test_words = unknown[: UNKNOWN[0]], unknown[UNKNOWN[0] :]
    write_pairs(text / "tune-unknown", zip(tune_words, tune_words))
    write_pairs(text / "test-unknown", zip(test_words, test_words))


if __name__ == "__main__":
    run_cli(main)
