"""Look up how a memory translates a few words, and which small word it has in front of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from .alignment import Lexicon, Links, Token, is_word, tokens_of

MOST_ENTRIES = 60  # of a phrase that are read
SHORT, STEM = 4, 3  # letters of a small word, and those that another form shares with it
WHOLE = 2  # times that an entry counts that is nothing but the phrase
_APOSTROPHES = ("'", "’")


class Found(NamedTuple):
    """A translation of a phrase: how often a memory has it, and its share of all."""

    text: str
    count: int
    share: float


class Entry(NamedTuple):
    """A source and its translation, as tokens."""

    source: list[Token]
    target: list[Token]
    text: str  # of the translation


class Lookup:
    """Pairs of a memory, searched by their words."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        unique = dict.fromkeys(pairs)
        self.entries = [Entry(tokens_of(old), tokens_of(text), text) for old, text in unique]
        self.keys = [[token.key for token in entry.source] for entry in self.entries]
        self.places: defaultdict[str, list[int]] = defaultdict(list)
        for number, keys in enumerate(self.keys):
            for key in dict.fromkeys(keys):
                self.places[key].append(number)
        self._links: dict[int, tuple[Links, Links]] = {}
        self._found: dict[tuple[str, ...], list[Found]] = {}

    @cached_property
    def lexicon(self) -> Lexicon:
        return Lexicon((entry.source, entry.target) for entry in self.entries)

    @cached_property
    def neighbours(self) -> Counter[tuple[str, str]]:
        """Returns how often two words stand side by side in translations."""
        return Counter(
            (left.key, right.key) for entry in self.entries for left, right in pairwise(entry.target)
        )

    @cached_property
    def forms(self) -> dict[str, list[str]]:
        """Returns the words of translations by their likeliest source."""
        forms = defaultdict(list)
        for word, source in self.lexicon.source_of.items():
            forms[source].append(word)
        return forms

    def links(self, number: int) -> tuple[Links, Links]:
        """Returns the links of an entry."""
        if number not in self._links:
            entry = self.entries[number]
            self._links[number] = self.lexicon.links(entry.source, entry.target)
        return self._links[number]

    def translations(self, phrase: Sequence[str]) -> list[Found]:
        """Returns the translations of words in small letters, the most frequent first."""
        key = tuple(phrase)
        if key not in self._found:
            self._found[key] = self._search([*phrase])
        return self._found[key]

    def _search(self, phrase: list[str]) -> list[Found]:
        """Reads the entries with the rarest word of a phrase."""
        rarest = min((self.places.get(word, []) for word in phrase), key=len)
        written: Counter[str] = Counter()
        total = 0
        for number in rarest[:MOST_ENTRIES]:
            keys, entry = self.keys[number], self.entries[number]
            starts = range(len(keys) - len(phrase) + 1)
            start = next((k for k in starts if keys[k : k + len(phrase)] == phrase), None)
            if start is None:
                continue
            weight = WHOLE if len(keys) == len(phrase) else 1
            total += weight
            there = stretch(range(start, start + len(phrase)), *self.links(number))
            if weight == WHOLE:
                written[entry.text] += weight
            elif there:
                first, last = there
                written[entry.text[entry.target[first].start : entry.target[last].end]] += 1
        merged: Counter[str] = Counter()
        for text, count in written.items():
            merged[text.lower()] += count
        spelling = {text.lower(): text for text, _ in reversed(written.most_common())}
        return [Found(spelling[low], n, n / total) for low, n in merged.most_common()]

    def agreeing(self, word: str, following: str) -> str:
        """Returns the form of a small word that the memory has before another word: of words with
        the same source, the one that stands there most often; itself where none does."""
        small, after = word.lower(), following.lower()
        if not is_word(word) or self.neighbours[small, after]:
            return word
        forms = self.forms.get(self.lexicon.source_of.get(small, ""), ())
        likely = [
            (self.neighbours[form, after], form)
            for form in forms
            if len(form) <= SHORT or form[:STEM] == small[:STEM]
        ]
        count, form = max(likely, default=(0, word))
        if not count:
            return word
        return form[:1].upper() + form[1:] if word[:1].isupper() else form


def stretch(places: range, forward: Links, backward: Links) -> tuple[int, int] | None:
    """Returns the first and last token of a translation that source tokens are linked to; None if
    there is none, or another token's translation stands between."""
    linked = [forward[i] for i in places if i in forward]
    if not linked:
        return None
    first, last = min(linked), max(linked)
    if any(backward.get(j, places.start) not in places for j in range(first, last + 1)):
        return None
    return first, last


def joined(word: str, gap: str) -> str:
    """Returns what parts a small word from the next one: nothing after an apostrophe."""
    return "" if word.endswith(_APOSTROPHES) else gap or " "
