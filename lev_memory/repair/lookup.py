"""Look up how a memory translates a few words.

Words are aligned by IBM model 1 (Brown et al., 1993) and competitive linking (Melamed, 2000). Own
numpy: on 7,988 pairs NLTK's IBMModel1 takes 7.6 CPU seconds for both directions (five iterations),
this 0.8 (four); links come from both directions, which NLTK has not.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .confidence import Table
from .text import is_word, tokens_of

MOST_CACHED = 20_000  # entries, and phrases
MOST_ENTRIES = 60  # of a phrase that are read
WHOLE = 2  # times that an entry counts that is nothing but the phrase
BETWEEN = "\0"  # words of a source that is searched: these have no such character
ITERATIONS = 4
LONGEST = 30  # words of a text that is learnt from
MOST_CELLS = 3_000_000  # of pairs of words, 100 MB; the shortest texts come first
LIKELY = 0.02  # least probability that links two words
PRIOR = 0.5  # occurrences of other translations that a word is source
SLANT = 0.15  # of a link from the first word to the last
Links = dict[int, int]
Codes = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def probabilities(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], size: int
) -> tuple[Codes, Table]:
    """Returns t(target word | source word) of IBM model 1, where it may count, for numbered words.

    Args:
        pairs: words from 1 on; 0 is no word.
        size: more than the largest number.

    Returns:
        codes of the pairs of words, source · size + target, ascending; and their probabilities.
    """
    cells = np.concatenate(
        [np.tile([0, *x], len(y)) * size + np.repeat(y, len(x) + 1) for x, y in pairs],
        dtype=np.min_scalar_type(size * size),
        casting="unsafe",
    )
    # with counts it sorts: faster than by hashes, and smaller than with the inverse
    coded, _ = np.unique(cells, return_counts=True)
    index = np.searchsorted(coded, cells)
    del cells
    widths = np.repeat([len(x) + 1 for x, _ in pairs], [len(y) for _, y in pairs])
    starts = np.cumsum(widths) - widths
    source = coded // size
    table = np.ones(len(coded), np.float32)
    for _ in range(ITERATIONS):
        share = table[index]
        share /= np.repeat(np.add.reduceat(share, starts), widths)
        counts = np.bincount(index, share)
        table = (counts / (np.bincount(source, counts)[source] + PRIOR)).astype(np.float32)
    kept = (table > LIKELY**2) & (source > 0)
    return coded[kept].astype(np.int64), table[kept].astype(np.float64)


class TranslationTable:
    """Words and their translations, with probabilities of both directions.

    Attributes:
        translations: of each word, in small letters.
    """

    def __init__(self, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> None:
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers) + 1)
        sides = []
        for pair in pairs:
            coded = [[numbers[key] for key in side if is_word(key)] for side in pair]
            if all(0 < len(side) <= LONGEST for side in coded):
                sides.append((coded[0], coded[1]))
        sides.sort(key=lambda pair: len(pair[0]) * len(pair[1]))
        used = np.cumsum([(len(x) + 1) * (len(y) + 1) for x, y in sides]) <= MOST_CELLS
        sides = sides[: int(used.sum())]
        self.translations: defaultdict[str, dict[str, float]] = defaultdict(dict)
        if not sides:
            return
        words = ["", *numbers]
        size = len(words)
        codes, forward = probabilities(sides, size)
        reverse, backward = probabilities([(y, x) for x, y in sides], size)
        turned = reverse % size * size + reverse // size
        shared, here, there = np.intersect1d(codes, turned, True, return_indices=True)
        both = (forward[here] * backward[there]) ** 0.5
        likely = both > LIKELY
        for code, chance in zip(shared[likely].tolist(), both[likely].tolist()):
            self.translations[words[code // size]][words[code % size]] = chance

    def covered(self, words: Iterable[str], there: Set[str]) -> float:
        """Returns the least probability of the words' likeliest translations among those there."""
        chances = []
        for word in filter(is_word, words):
            known = self.translations.get(word, {}).items()
            chances.append(max((c for w, c in known if w in there), default=float(word in there)))
        return min(chances, default=0.0)

    def links(self, source: Sequence[str], target: Sequence[str]) -> Links:
        """Returns which word of a translation each one of its source has: each at most one, the
        likeliest pairs first."""
        where = defaultdict(list)
        for j, key in enumerate(target):
            where[key].append((j, j / len(target)))
        scored = []
        for i, key in enumerate(source):
            known, here = self.translations.get(key, {}), i / len(source)
            for word in where.keys() & {*known, key}:
                chance = 1.0 if word == key else known[word]
                for j, there in where[word]:
                    scored.append((SLANT * abs(here - there) - chance, i, j))
        links, taken = Links(), set[int]()
        for _, i, j in sorted(scored):
            if i not in links and j not in taken:
                links[i] = j
                taken.add(j)
        return links


class Translation(NamedTuple):
    """A translation of a phrase: its share of all that a memory has, and whether it was seen after
    other words, where its capitals are its own."""

    text: str
    share: float
    is_inner: bool


class SentencePair(NamedTuple):
    """The words of a source and of its translation, and where these stand in its text."""

    source: list[str]
    target: list[str]
    starts: list[int]
    ends: list[int]
    text: str

    @classmethod
    def of(cls, source: str, text: str) -> "SentencePair":
        keys, tokens = [token.key for token in tokens_of(source)], tokens_of(text)
        starts, ends, _, target, _ = map(list, zip(*tokens)) if tokens else ([],) * 5
        return cls(keys, target, starts, ends, text)


class Concordance:
    """Pairs of a memory, searched by their words."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.entries = [SentencePair.of(*pair) for pair in dict.fromkeys(pairs)]
        self.sources = [in_line(entry.source) for entry in self.entries]
        self.places: defaultdict[str, list[int]] = defaultdict(list)
        for number, entry in enumerate(self.entries):
            for key in {*entry.source}:
                self.places[key].append(number)
        #: of an entry, by its number
        self.links = lru_cache(MOST_CACHED)(lambda n: self.table.links(*self.entries[n][:2]))
        self.translations = lru_cache(MOST_CACHED)(self._search)

    @cached_property
    def table(self) -> TranslationTable:
        return TranslationTable(entry[:2] for entry in self.entries)

    @cached_property
    def neighbours(self) -> set[tuple[str, str]]:
        """Returns the words that stand side by side in translations."""
        return {pair for entry in self.entries for pair in pairwise(entry.target)}

    def share(self, phrase: tuple[str, ...], text: str) -> float:
        """Returns the share of a text among the translations of a phrase."""
        low = text.lower()
        alike = (each.share for each in self.translations(phrase) if each.text.lower() == low)
        return next(alike, 0.0)

    def _search(self, phrase: tuple[str, ...]) -> list[Translation]:
        """Returns the translations of words in small letters, the most frequent first, from the
        entries with the rarest of them."""
        if not any(map(is_word, phrase)):
            return []
        rarest = min((self.places.get(word, []) for word in phrase), key=len)
        wanted = in_line(phrase)
        counts = Counter[str]()
        spellings: defaultdict[str, Counter[tuple[bool, str]]] = defaultdict(Counter)
        total = 0
        for number in rarest[:MOST_ENTRIES]:
            source, entry = self.sources[number], self.entries[number]
            place = source.find(wanted)
            if place < 0:
                continue
            is_whole = source == wanted
            weight = WHOLE if is_whole else 1
            total += weight
            start = source.count(BETWEEN, 0, place)
            if is_whole:
                there = range(len(entry.target))
            else:
                there = stretch(range(start, start + len(phrase)), self.links(number))
            if not there:
                continue
            text = entry.text[entry.starts[there[0]] : entry.ends[there[-1]]]
            low = text.lower()
            counts[low] += weight
            spellings[low][there.start > 0, text] += 1
        translations = []
        for low, count in counts.most_common():
            seen = spellings[low]
            is_inner, text = max(seen, key=lambda way: (way[0], seen[way]))
            translations.append(Translation(text, count / total, is_inner))
        return translations


def in_line(words: Iterable[str]) -> str:
    """Returns words as a text in which others are found."""
    return BETWEEN + "".join(f"{word}{BETWEEN}" for word in words)


def stretch(places: range, links: Links) -> range:
    """Returns the tokens of a translation that source tokens are linked to; none if another
    token's translation stands between."""
    linked = [links[i] for i in places if i in links]
    if not linked:
        return range(0)
    there = range(min(linked), max(linked) + 1)
    is_whole = sum(j in there for j in links.values()) == len(linked)
    return there if is_whole else range(0)
