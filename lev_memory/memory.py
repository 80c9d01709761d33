"""A translation memory: the most similar sources, and what a translation was made from."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import regex
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from .repair.invented import (
    codes_of,
    made_up,
    made_up_codes,
    neighbours,
    usual_repeats,
    vocabulary,
)
from .repair.text import SINGLE

SIMILAR = 0.4  # below, a translation is no draft
NEAR = 0.7  # below, two translations are not of nearly the same text
ENOUGH_WORDS = 20  # that tell a language
_ROUNDING = 1e-6  # of a similarity in single precision
_TOKEN = regex.compile(rf"[{SINGLE}]|(?:(?![{SINGLE}])\w)+|[^\w\s]")
Pair = tuple[str, str]  # a source and its translation, each one line


class Match(NamedTuple):
    """A source of the memory, its translation, and how similar it is, in [0, 1]."""

    old: str
    draft: str
    similarity: float


class Index:
    """Texts that are searched for similar ones.

    Similarity is 1 − d / n: d, the Levenshtein distance in tokens (words, numbers, punctuation
    marks; characters where a script has no spaces), n, the tokens of the longer one.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._numbers: dict[str, int] = {}

    @cached_property
    def _coded(self) -> list[str]:
        return [*map(self._code, self.texts)]

    def _code(self, text: str) -> str:
        """Returns a character for each token, which is what rapidfuzz compares fastest."""
        known = self._numbers
        numbers = (known.setdefault(token, len(known)) for token in _TOKEN.findall(text))
        return "".join(chr(0x10000 + number % 1_000_000) for number in numbers)

    def similar(
        self, texts: Sequence[str], least: float, count: int
    ) -> Iterator[list[tuple[int, float]]]:
        """Yields for each text the ``count`` most similar ones: place and similarity."""
        for start in range(0, len(texts), 64):
            asked = map(self._code, texts[start : start + 64])
            table = process.cdist(
                [*asked],
                self._coded,
                scorer=Levenshtein.normalized_similarity,
                score_cutoff=least - 1e-4,  # rapidfuzz leaves out some that are just as similar
                workers=-1,
            )
            for row in table:
                best = (-row).argsort(kind="stable")[:count]
                yield [(int(i), float(row[i])) for i in best if row[i] >= least - _ROUNDING]


def similarity(text: str, other: str) -> float:
    """Returns the similarity of two texts, as an :class:`Index` has it."""
    return Levenshtein.normalized_similarity(_TOKEN.findall(text), _TOKEN.findall(other))


class Memory:
    """Pairs of which no two have the same source; the first of several stays.

    ``all_pairs``: with the others.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.all_pairs = [pair for pair in dict.fromkeys(pairs) if all(map(str.strip, pair))]
        unique: dict[str, str] = {}
        for source, target in self.all_pairs:
            unique.setdefault(source, target)
        self.pairs = [*unique.items()]
        self.translations = unique
        self.sources, self.targets = [*unique], [*unique.values()]
        self._index, self._target_index = Index(self.sources), Index(self.targets)

    @cached_property
    def repeats(self) -> set[str]:
        """Returns words that its language repeats."""
        return usual_repeats(self.targets)

    @cached_property
    def words(self) -> set[str]:
        """Returns the words of its translations."""
        return vocabulary(self.targets)

    @cached_property
    def source_words(self) -> set[str]:
        """Returns the words of its sources."""
        return vocabulary(self.sources)

    def is_reversed(self, sources: Iterable[str]) -> bool:
        """Returns whether sources are rather in the language that it translates into."""
        asked = vocabulary(sources)
        known, translated = len(asked & self.source_words), len(asked & self.words)
        return len(asked) >= ENOUGH_WORDS and translated > 2 * known

    @cached_property
    def neighbours(self) -> set[Pair]:
        """Returns the pairs of neighbouring words of its sources."""
        return {*neighbours(self.sources)}

    def unknown(self, sources: Iterable[str]) -> float:
        """Returns how many pairs of neighbouring words of other sources it does not know, for each
        that it does; the fewer there are, the nearer to 1."""
        known = [pair in self.neighbours for pair in neighbours(sources)]
        return (known.count(False) + 1) / (sum(known) + 1)

    @cached_property
    def codes(self) -> set[str]:
        """Returns the identifiers and the markup of its translations."""
        return {code for text in self.targets for code in codes_of(text)}

    def made_up(self, text: str, source: str, *others: str) -> list[str]:
        """Returns words, identifiers and markup of a text that neither the memory nor one of the
        texts has that it was made from."""
        words = made_up(text, self.words, source, *others)
        return words + made_up_codes(text, self.codes, source, *others)

    def matches(self, sources: Sequence[str], count: int, itself: bool) -> Iterator[list[Match]]:
        """Yields for each source its ``count`` most similar ones, the best first; ``itself``: also
        one that is equal, which in training would be the answer."""
        similar = self._index.similar(sources, SIMILAR, count + 1)
        for source, places in zip(sources, similar):
            matches = [Match(*self.pairs[place], similarity) for place, similarity in places]
            if not itself:
                matches = [match for match in matches if match.old != source]
            yield matches[:count]

    def translated_from(self, asked: Sequence[Pair], itself: bool = True) -> Iterator[str]:
        """Yields the source that each translation was made from, "" if the memory does not know.

        It is the one most similar to the new source among those whose translation is near to the
        text; if the text itself is a translation of the memory, among the sources of that.

        Args:
            asked: new sources, each with the text.
            itself: False to do as if the memory did not have the text itself.
        """
        near = self._target_index.similar([text for _, text in asked], NEAR, 20)
        for (source, text), places in zip(asked, near, strict=True):
            pairs = [self.pairs[place] for place, _ in places]
            same = [old for old, target in pairs if target == text and itself]
            olds = same or [old for old, target in pairs if target != text]
            best = max(olds, key=lambda old: similarity(old, source), default="")
            is_near = similarity(best, source) >= SIMILAR - _ROUNDING
            yield best if same or is_near else ""
