"""Makes the list of words that exist, by which edits of unknown words are judged.

    pip install wordfreq
    apt-get download scowl && dpkg-deb -x scowl_*.deb scowl
    apt-cache pkgnames > names
    python examples/spelling_and_ocr/known_words.py FOLDER --names names \\
        --scowl scowl/usr/share/dict/scowl

FOLDER is that of a corrector; it gets ``corrector.known``: on each line a word that its lexicon
lacks, a tab, and a level from 1 to 9: how much speaks for the word as it is written, in nats
(:mod:`lev_correct.words.known_words`). Three sources say so, the one that is surest counts:

- SCOWL's lists of words (all spellings of English, names, abbreviations), by their size; what is
  spelt so on purpose, though codespell's table has it, gets 9;
- wordfreq's frequencies of words in English of many kinds, by Zipf's scale;
- names of packages: tools that have no place in a dictionary.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from pathlib import Path

from lists import parser_of
from word_list import level_of
from wordfreq import get_frequency_dict

from lev_correct import settings
from lev_correct.packaged import installed_misspellings
from lev_correct.words.known_words import SPELLED, KnownWords
from lev_correct.words.lexicon import Lexicon, Lookup
from lev_correct.words.prepared import write_arrays
from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_lines

#: Largest size of SCOWL's lists (the larger, the rarer their words) and level; that of names.
SCOWL, NAME = ((70, 8), (80, 5)), 7
#: Largest size of a list of a variety of English (*connexion*), and how often a word that SCOWL has
#: is met at least for one that it is listed as a misspelling of (*requestor*, *requester*: 0.38;
#: *heros*: 0.03), for it to be a spelling of its own.
VARIANT, AS_USUAL = 60, 0.2
#: Packages whose names have a word, at least, and level.
NAMES = ((1, 4), (2, 6))
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def scowl_levels(folder: Path) -> Iterator[tuple[str, int]]:
    """Words of SCOWL's lists, whose names end with their size."""
    for path in sorted(folder.iterdir()):
        size = int(path.suffix[1:])
        level = next((level for most, level in SCOWL if size <= most), 0)
        level = NAME if "proper-names" in path.name else level
        if "-words" in path.name and "variant_2" not in path.name and size <= VARIANT:
            level = SPELLED
        if level and "variant_3" not in path.name:
            for word in path.read_text(encoding="latin-1").splitlines():
                yield word.strip().lower(), level


def usual_levels(words: Iterable[str], table: str) -> Iterator[tuple[str, int]]:
    """Yields those of words that a table of misspellings has, which are met as often as what it
    corrects them to."""
    frequencies, lookup = get_frequency_dict("en", "large"), Lookup.read(table)
    for wrong in words:
        least = AS_USUAL * max(
            map(frequencies.get, lookup.corrections(wrong), repeat(0)), default=0
        )
        if frequencies.get(wrong, 0) >= least > 0:
            yield wrong, SPELLED


def frequency_levels() -> Iterator[tuple[str, int]]:
    """Words of wordfreq."""
    for word, frequency in get_frequency_dict("en", "large").items():
        yield word, level_of(frequency)


def name_levels(path: str) -> Iterator[tuple[str, int]]:
    """Words of names of packages, one name a line."""
    times = Counter(
        word for name in read_lines(path) for word in {*re.findall("[a-z]{2,}", name.lower())}
    )
    for word, count in times.items():
        yield word, max(level for least, level in NAMES if count >= least)


def known_words(lexicon: Mapping[str, float], sources: Iterator[tuple[str, int]]) -> dict[str, int]:
    """The level of each word that is none of a lexicon, with its apostrophes or without, nor the
    possessive of one."""
    right, levels = {word.lower() for word in lexicon}, dict[str, int]()
    right |= {word.replace("'", "") for word in right}
    for word, level in sources:
        is_new = word not in right and word.removesuffix("'s") not in right
        if level and is_new and len(word) > 1 and _WORD.fullmatch(word):
            levels[word] = max(level, levels.get(word, 0))
    return {word: level for word, level in levels.items() if not word.endswith("'s")}


def sources(args: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """All of them."""
    scowl = [*scowl_levels(args.scowl)]
    yield from scowl
    yield from usual_levels(
        {word for word, level in scowl if level != NAME}, installed_misspellings()
    )
    yield from frequency_levels()
    yield from name_levels(args.names)


def main() -> None:
    """Run the script."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="of a corrector, with corrector.json")
    parser.add_argument("--scowl", type=Path, required=True, help="folder of SCOWL's lists")
    parser.add_argument("--names", required=True, help="names of packages, one a line")
    args = parser.parse_args()
    stored = args.folder / settings.NAME
    use = settings.read(str(stored))
    assert use.lexicon, f"{stored} names no lexicon"
    levels = known_words(Lexicon.read(use.lexicon).counts, sources(args))
    lines = sorted(f"{word}\t{level}\n".encode() for word, level in levels.items())
    path = args.folder / "corrector.known"
    write_arrays(str(path), KnownWords(b"".join(lines)).arrays())
    kept = json.loads(stored.read_text(encoding="utf-8")) | {"known": path.name}
    stored.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {len(levels):,} words, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    run_cli(main)
