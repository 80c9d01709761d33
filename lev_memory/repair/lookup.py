"""Look up how a memory translates a few words, and which small word it has in front of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from .alignment import Links, Token, TranslationTable, is_word, tokens_of

MOST_ENTRIES = 60  # of a phrase that are read
SHORT, ENDING = 4, 2  # letters of a small word, and those that tell a longer one's forms apart
WHOLE = 2  # times that an entry counts that is nothing but the phrase
_APOSTROPHES = "'’"
BETWEEN = "\0"  # words of a source that is searched: these have no such character


class Translation(NamedTuple):
    """A translation of a phrase: how often a memory has it, its share of all, whether it was seen
    after other words, where its capitals are its own, and whether an entry is nothing else."""

    text: str
    times: int
    share: float
    is_inner: bool
    is_alone: bool


class SentencePair(NamedTuple):
    """A source and its translation, as tokens."""

    source: list[Token]
    target: list[Token]
    text: str  # of the translation


class Concordance:
    """Pairs of a memory, searched by their words."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        unique = dict.fromkeys(pairs)
        self.entries = [SentencePair(tokens_of(old), tokens_of(text), text) for old, text in unique]
        self.sources = [in_line(token.key for token in entry.source) for entry in self.entries]
        self.places: defaultdict[str, list[int]] = defaultdict(list)
        for number, entry in enumerate(self.entries):
            for key in dict.fromkeys(token.key for token in entry.source):
                self.places[key].append(number)
        self._links: dict[int, tuple[Links, Links]] = {}
        self._translations: dict[tuple[str, ...], list[Translation]] = {}

    @cached_property
    def table(self) -> TranslationTable:
        return TranslationTable((entry.source, entry.target) for entry in self.entries)

    @cached_property
    def neighbours(self) -> Counter[tuple[str, str]]:
        """Returns how often two words stand side by side in translations."""
        return Counter(
            (left.key, right.key)
            for entry in self.entries
            for left, right in pairwise(entry.target)
        )

    @cached_property
    def before(self) -> defaultdict[str, dict[str, int]]:
        """Returns how often which words stand before a word."""
        before: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for (left, right), count in self.neighbours.items():
            before[right][left] = count
        return before

    def links(self, number: int) -> tuple[Links, Links]:
        """Returns the links of an entry."""
        if number not in self._links:
            entry = self.entries[number]
            self._links[number] = self.table.links(entry.source, entry.target)
        return self._links[number]

    def translations(self, phrase: tuple[str, ...]) -> list[Translation]:
        """Returns the translations of words in small letters, the most frequent first."""
        if phrase not in self._translations:
            self._translations[phrase] = self._search(phrase)
        return self._translations[phrase]

    def share(self, phrase: tuple[str, ...], text: str) -> float:
        """Returns the share of a text among the translations of a phrase."""
        alike = (
            each.share for each in self.translations(phrase) if each.text.lower() == text.lower()
        )
        return next(alike, 0.0)

    def _search(self, phrase: tuple[str, ...]) -> list[Translation]:
        """Reads the entries with the rarest word of a phrase."""
        if not any(map(is_word, phrase)):
            return []
        rarest = min((self.places.get(word, []) for word in phrase), key=len)
        wanted = in_line(phrase)
        counts, alone = Counter[str](), set[str]()
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
            there = stretch(range(start, start + len(phrase)), *self.links(number))
            if is_whole:
                there = range(len(entry.target))
            if not there:
                continue
            text = entry.text[slice(*span(entry.target, there))]
            low = text.lower()
            counts[low] += weight
            spellings[low][there.start > 0, text] += 1
            if is_whole:
                alone.add(low)
        translations = []
        for low, count in counts.most_common():
            seen = spellings[low]
            is_inner, text = max(seen, key=lambda way: (way[0], seen[way]))
            translations.append(Translation(text, count, count / total, is_inner, low in alone))
        return translations

    def agreeing(self, word: str, following: str) -> str:
        """Returns the form of a word that the memory has before another word, of several the most
        frequent; itself where it has none."""
        small, after = word.lower(), following.lower()
        if not is_word(word) or self.neighbours[small, after]:
            return word
        before = self.before[after].items()
        forms = [(count, form) for form, count in before if self.is_form(form, small)]
        _, form = max(forms, default=(0, word))
        return form[:1].upper() + form[1:] if word[:1].isupper() else form

    def is_form(self, word: str, other: str) -> bool:
        """Returns whether two words are forms of one: small ones by their source or an apostrophe,
        others by their letters up to the last few."""
        if max(len(word), len(other)) <= SHORT:
            source = self.table.source_of.get(word, "")
            bare = word.rstrip(_APOSTROPHES)
            is_same = source == self.table.source_of.get(other)
            return is_same or (bare != word and other.startswith(bare))
        stem = max(len(word), len(other)) - ENDING
        return stem >= SHORT and word[:stem] == other[:stem]


def in_line(words: Iterable[str]) -> str:
    """Returns words as a text in which others are found."""
    return BETWEEN + "".join(f"{word}{BETWEEN}" for word in words)


def stretch(places: range, forward: Links, backward: Links) -> range:
    """Returns the tokens of a translation that source tokens are linked to; none if another
    token's translation stands between."""
    linked = [forward[i] for i in places if i in forward]
    there = range(min(linked, default=0), max(linked, default=-1) + 1)
    return there if all(backward.get(j, places.start) in places for j in there) else range(0)


def span(tokens: Sequence[Token], there: range) -> tuple[int, int]:
    """Returns where some tokens stand in their text."""
    return tokens[there.start].start, tokens[there.stop - 1].end


def joined(word: str, gap: str) -> str:
    """Returns what parts a small word from the next one: nothing after an apostrophe."""
    return "" if word[-1:] in _APOSTROPHES else gap or " "
