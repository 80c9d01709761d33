"""Makes a public list of words, as ``correct --lexicon`` takes it.

    python examples/spelling_and_ocr/word_list.py de > words.txt
    python examples/spelling_and_ocr/word_list.py de --own own.txt > words.txt
    python examples/spelling_and_ocr/word_list.py de --own words.txt --names > names.txt
    python examples/spelling_and_ocr/word_list.py de --own words.txt --known > corrector.known

The words and their frequencies are those of wordfreq (``pip install wordfreq``), which folds case:
its German has *schliesslich* for *schließlich*, its Greek *λογοσ* for *λόγος*. Taken as it is,
such a list makes every right word with these letters a misspelling. Here *ς* stands at the end of
Greek words again, and German words get *ß* where pyspellchecker's words (``pip install
pyspellchecker``) or those of ``--own`` have it, also in compounds of two of them.

Such a list has misspellings, too: *vieleicht*, *nciht*. Where pyspellchecker has words of the
language, which dictionaries have confirmed, one that it lacks is no word if it differs by a letter
from one that it has and that is five times as frequent; at its end alone it may differ. So it is
with what your own text has once or twice beside a word that it has twenty times as often.

``--own`` is a list of your own text, such as examples/denoising/words.py writes: its words are
added, and public words are counted as in a text of the same length. ``--rarest 0`` keeps all words:
for languages that have many forms of each, such as Finnish. ``--names`` writes what ``correct
--protect-words`` takes: rare words of the language and of English that the list lacks, with a
capital. Most are names. Some are misspellings, so one is left out that differs by a letter from a
public word that is ten times as frequent, or a thousand times if it is short, unless English has it
more often than the language. German words as they were spelled until 1996 (*muß*) are added.
``--known`` writes the rare words that the list lacks with their levels: how much speaks for a word
as it is written, in nats (:mod:`lev_correct.words.lexicon`). Of English two more sources say
so, and the one that is surest counts: SCOWL's lists (all spellings, names, abbreviations), by their
size, where what is spelt so on purpose, though codespell's table has it, gets the highest level;
and names of packages, tools that have no place in a dictionary:

    apt-get download scowl && dpkg-deb -x scowl_*.deb scowl && apt-cache pkgnames > names
    python examples/spelling_and_ocr/word_list.py en --own words.txt --known \\
        --scowl scowl/usr/share/dict/scowl --packages names > corrector.known
"""

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lists import installed, parser_of

from lev_correct.words.lexicon import (
    RARE_OR_WRONG,
    SPELLED,
    Lexicon,
    Lookup,
    installed_misspellings,
)
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.output import standard_output
from lev_runtime.io.text_files import read_lines

#: What is less frequent has many names, words of other languages and misspellings.
RAREST = 1e-7
#: Words of the text that frequencies become counts of, where there is no text.
LENGTH = 1e9
#: Letters of a compound's part at least, and of a name.
SHORTEST = 3
#: So many times as frequent is a word whose misspelling a name of so many letters or more may be,
#: and one with fewer letters.
LONG, TIMES, TIMES_IF_SHORT = 7, 10, 1000
#: So many times as frequent is a confirmed word whose misspelling another may be, and one whose
#: misspelling a name of few letters may be that is no rare word.
TIMES_IF_UNCONFIRMED, TIMES_IF_FREQUENT = 5, 50
#: The same of words of one's own text that it has less often than so.
TIMES_IF_RARE, RARE = 20, 3
#: Words per billion, at least, and level of a known word: Zipf frequencies of 1.3, 1.5, 2, 2.5, 3.
LEVELS = ((20, 1), (31.6, 3), (100, 4), (316, 6), (1000, 8))
#: Largest size of SCOWL's lists (the larger, the rarer their words) and level; that of names.
SCOWL, NAME = ((80, 5), (70, 8)), 7
#: Largest size of a list of a variety of English (*connexion*), and how often a word that SCOWL has
#: is met at least for one that it is listed as a misspelling of (*requestor*, *requester*: 0.38;
#: *heros*: 0.03), for it to be a spelling of its own.
VARIANT, AS_USUAL = 60, 0.2
#: Largest size of a list whose words are right though the table has them: typo commits have none of
#: these among 1,858 misspelt words, and people's 3,362 misspellings six; of those up to size 95
#: commits have more than 40.
RARE_SIZE = 70
#: The same of the lists of doubtful variants: larger ones have what most people misspell.
RARE_VARIANT_SIZE = 50
#: Packages whose names have a word, at least, and level.
PACKAGES = ((1, 4), (2, 6))
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
#: *ss* that was *ß*: behind a vowel, at the end, before a consonant or an ending with *t*.
_SS = re.compile(r"(?<=[aeiouyäöü])ss(?=$|[bdfghjklmnrvwz]|t(?:$|e[mnrs]?$|est$))")
#: Languages of pyspellchecker.
CONFIRMED = "ar de en es eu fa fr it lv nl pt ru".split()


def main(argv: Sequence[str] | None = None) -> None:
    """Writes the list to standard output, the most frequent word first."""
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("language", help="two letters, such as de")
    add("--own", metavar="FILE", help="words of your text and their counts")
    add("--rarest", type=float, metavar="SHARE", default=RAREST, help="least (default: 1e-7)")
    add("--names", action="store_true", help="write names, of the language and of English")
    add("--known", action="store_true", help="write rare words and their levels")
    add("--scowl", type=Path, metavar="FOLDER", help="SCOWL's lists, for --known")
    add("--packages", metavar="FILE", help="names of packages, one a line, for --known")
    args = parser.parse_args(argv)
    own = Lexicon.read(args.own).counts if args.own else {}
    listed = spelled(args.language, 0 if args.known else args.rarest, own)
    if args.known:
        levels = [(word, level_of(share)) for word, share in listed.items()]
        levels += [*scowl_levels(args.scowl, frequencies(args.language, 0))] if args.scowl else []
        levels += [*package_levels(args.packages)] if args.packages else []
        lines = sorted(f"{word}\t{level}\n" for word, level in known_words(own, levels).items())
    elif args.names:
        others = [spelled(language, 0, own, False) for language in (args.language, "en")]
        known = {word.lower() for word in own or listed}
        staying = [*names(listed, others), *(old_spellings(known) if args.language == "de" else ())]
        lines = [f"{name}\n" for name in staying if name.lower() not in known]
    else:
        rare = {word for word, count in own.items() if count < RARE}
        wrong = misspellings(own, confirmed_words(args.language), TIMES_IF_RARE) & rare
        right = {word: count for word, count in own.items() if word not in wrong}
        lines = [f"{word} {count:.10g}\n" for word, count in together(listed, right)]
    standard_output().writelines(lines)


def spelled(
    language: str, rarest: float, own: Mapping[str, float], sure: bool = True
) -> dict[str, float]:
    """wordfreq's words of a language and their shares, as texts spell them.

    Args:
        rarest: words that are less frequent are left out.
        own: words of a text, which say where *ß* stands.
        sure: leave :func:`misspellings` out.
    """
    listed = frequencies(language, rarest)
    confirmed = confirmed_words(language)
    if confirmed and sure:
        plain = {
            word.lower().replace("ß", "ss") if language == "de" else word for word in confirmed
        }
        wrong = misspellings(listed, plain | {*own})
        listed = {word: share for word, share in listed.items() if word not in wrong}
    if language == "de":
        return with_sharp_s(listed, {**confirmed, **own})
    if language == "el":
        return {re.sub("σ$", "ς", word): share for word, share in listed.items()}
    return listed


def level_of(share: float) -> int:
    """Returns the level of a word that is met so often; 0 of one that may be anything."""
    return max((level for least, level in LEVELS if share * 1e9 >= least), default=0)


def known_words(own: Mapping[str, float], sources: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Returns the highest level of each word that a list lacks, with its apostrophes or without;
    possessives are left out. :data:`.RARE_OR_WRONG` stands above all but :data:`.SPELLED`."""
    listed = {*own, *(word.replace("'", "") for word in own)}
    levels: dict[str, int] = {}
    for word, level in sorted(sources, key=lambda source: source[1]):
        is_kept = levels.get(word) == RARE_OR_WRONG and level != SPELLED
        if not is_kept and word not in listed and len(word) > 1:
            levels[word] = level
    return {
        word: level
        for word, level in levels.items()
        if _WORD.fullmatch(word) and not word.endswith("'s")
    }


def scowl_levels(folder: Path, shares: Mapping[str, float]) -> Iterator[tuple[str, int]]:
    """Yields words of SCOWL's lists, whose names end with their size, and their levels.

    shares: of English words, by which one that codespell's table has is a spelling of its own if it
    is met nearly as often as what the table corrects it to.
    """
    lookup = Lookup.read(installed_misspellings())
    for path in sorted(folder.iterdir()):
        size, kind = int(path.suffix[1:]), path.stem
        level = NAME if "proper-names" in kind else 0
        if not level and "variant_3" not in kind:
            level = max((level for most, level in SCOWL if size <= most), default=0)
            if "-words" in kind and "variant_2" not in kind and size <= VARIANT:
                level = SPELLED
        most = RARE_VARIANT_SIZE if "variant_2" in kind else RARE_SIZE
        is_words = "-words" in kind and size <= most
        for line in path.read_text("latin-1").splitlines() if level else ():
            word = line.strip().lower()
            meant = [shares.get(other, 0.0) for other in lookup.corrections(word)]
            is_usual = shares.get(word, 0.0) >= AS_USUAL * max(meant, default=0.0) > 0
            if meant and is_words:
                yield word, RARE_OR_WRONG
            yield word, SPELLED if is_usual and level != NAME else level


def package_levels(path: str) -> Iterator[tuple[str, int]]:
    """Yields words of names of packages, one name a line, and their levels."""
    times = Counter(
        word for name in read_lines(path) for word in {*re.findall("[a-z]{2,}", name.lower())}
    )
    for word, count in times.items():
        yield word, max(level for least, level in PACKAGES if count >= least)


def frequencies(language: str, rarest: float) -> dict[str, float]:
    """Words of letters alone, and their share of all words, which is ``rarest`` or more.

    Raises:
        UserError: wordfreq is not installed, or lacks the language.
    """
    try:
        import wordfreq
    except ImportError as error:
        raise UserError("wordfreq is not installed; pip install wordfreq") from error
    known = sorted(wordfreq.available_languages("best"))
    if language not in known:
        raise UserError(f"there are no words of {language!r}; give one of {', '.join(known)}")
    listed = wordfreq.get_frequency_dict(language, "best").items()
    return {word: share for word, share in listed if word.isalpha() and share >= rarest}


def confirmed_words(language: str) -> dict[str, float]:
    """pyspellchecker's words of a language and their counts; none where it has no such list or is
    not installed."""
    if language not in CONFIRMED:
        return {}
    try:
        packed = installed("pyspellchecker", "spellchecker", "resources", f"{language}.json.gz")
    except UserError:
        if language == "de":  # it knows where ß stands
            raise
        return {}
    return {word.lower(): count for word, count in json.loads(gzip.decompress(packed)).items()}


def misspellings(
    listed: Mapping[str, float], confirmed: Container[str], times: float = TIMES_IF_UNCONFIRMED
) -> set[str]:
    """Words that nobody has confirmed beside more frequent ones that somebody has.

    Args:
        listed: words and their shares or counts.
        times: as frequent, at least.
    """
    near: dict[str, list[str]] = defaultdict(list)
    for word in (word for word in listed if word in confirmed):
        for text in {*_with_a_letter_less(word)}:
            near[text].append(word)

    def is_wrong(word: str, share: float) -> bool:
        others = {other for text in _with_a_letter_less(word) for other in near.get(text, ())}
        return any(
            listed[other] >= times * share and not _differ_at_the_end(word, other)
            for other in others
        )

    unconfirmed = ((word, share) for word, share in listed.items() if word not in confirmed)
    return {word for word, share in unconfirmed if is_wrong(word, share)}


def _differ_at_the_end(word: str, other: str) -> bool:
    """Whether one has a letter more at its end or another last one, as its forms may."""
    return word[:-1] in (other, other[:-1]) or word == other[:-1]


def with_sharp_s(listed: Mapping[str, float], spelled: Mapping[str, float]) -> dict[str, float]:
    """German words, of which those with *ß* have *ss*, as they are spelled.

    A word that is spelled in both ways (*Maße*, *Masse*) is both, its share divided by how often
    each is met.

    Args:
        listed: words and their shares.
        spelled: words with *ß*, and how often each is met.
    """
    forms: dict[str, list[str]] = defaultdict(list)
    for word in spelled:
        forms[word.lower().replace("ß", "ss")].append(word.lower())
    shares: Counter[str] = Counter()
    for word, share in listed.items():
        spellings = _spellings(word, forms) if "ss" in word else [word]
        met = [1 + spelled.get(spelling, 0) for spelling in spellings]
        for spelling, count in zip(spellings, met, strict=True):
            shares[spelling] += share * count / sum(met)
    return dict(shares)


def old_spellings(words: Iterable[str]) -> Iterator[str]:
    """How German words with *ss* were spelled until 1996 (*muß*, *läßt*), in small letters and with
    a capital."""
    for word in sorted(words):
        old = _SS.sub("ß", word)
        if old != word:
            yield from (old, old.capitalize())


def _spellings(word: str, forms: Mapping[str, Iterable[str]]) -> list[str]:
    """How a word is spelled, or else how its two parts are, the first as long as may be."""
    if word in forms:
        return sorted({*forms[word]})
    for end in range(len(word) - SHORTEST, SHORTEST - 1, -1):
        if word[:end] in forms and word[end:] in forms:
            return sorted({a + b for a in forms[word[:end]] for b in forms[word[end:]]})
    return [word]


def names(listed: Mapping[str, float], others: Sequence[Mapping[str, float]]) -> Iterator[str]:
    """Words with a capital that are no misspellings.

    Args:
        listed: words that may have been misspelt, and their shares.
        others: words of languages and their shares, small ones too; the first is the language of
            the list.
    """
    often: dict[str, float] = {}
    for word, share in listed.items():
        for text in _with_a_letter_less(word):
            often[text] = max(share, often.get(text, 0.0))
    own, *foreign = others
    elsewhere: Counter[str] = Counter()
    for shares in foreign:
        elsewhere |= Counter(shares)
    for word in sorted({*own, *elsewhere}):
        share, share_elsewhere = own.get(word, 0.0), elsewhere[word]
        near = max(often.get(text, 0.0) for text in _with_a_letter_less(word))
        if len(word) >= LONG:
            times = TIMES
        else:
            times = TIMES_IF_FREQUENT if share >= RAREST else TIMES_IF_SHORT
        is_foreign = share_elsewhere >= max(share, RAREST)
        is_far = near < times * max(share, share_elsewhere)
        if len(word) >= SHORTEST and (is_far or is_foreign):
            yield word.capitalize()


def _with_a_letter_less(word: str) -> Iterator[str]:
    """The word, and what is left of it without one letter: two that differ by a letter that is
    inserted, deleted, substituted or exchanged with its neighbour have one of these in common."""
    yield word
    yield from (word[:place] + word[place + 1 :] for place in range(len(word)))


def together(listed: Mapping[str, float], own: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Words and counts, the most frequent first.

    Args:
        listed: words and their shares.
        own: words of a text and their counts, or none.
    """
    length = sum(own.values()) or LENGTH
    counts = Counter({word: share * length for word, share in listed.items()})
    counts.update(own)
    yield from counts.most_common()


if __name__ == "__main__":
    run_cli(main)
