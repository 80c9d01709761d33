"""Synthetic drafts: noise that makes a sentence into one that wants post-editing.

First neighbours change places, then every token by itself is dropped, repeated, replaced or
kept. What happens to a line depends on the seed and the line's number alone
(:func:`line_random`), so lines may be made in any order and in any number of pieces.

A token is what stands between spaces; nothing is cut or joined.
"""

import dataclasses
import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rapidfuzz.distance import Levenshtein

from ..errors import UserError
from .near_words import NearWords

#: Tokens of up to this many characters are similar at one edit, longer ones at two.
SHORT = 5
#: So many similar tokens are kept for a token: the most frequent ones.
MOST_SIMILAR = 50


@dataclass(frozen=True)
class NoiseRates:
    """How much of a text is changed, as shares of its tokens; each in [0, 1].

    drop, repeat, replace exclude each other, so their sum is at most 1. ``similar`` is a share
    of the replacements: those by a token that looks like the old one.

    Raises:
        UserError: a share outside [0, 1], or a sum above 1.
    """

    drop: float = 0.0
    repeat: float = 0.0
    swap: float = 0.0
    replace: float = 0.0
    similar: float = 0.0

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if not 0 <= value <= 1:
                whole = "the replacements" if name == "similar" else "the tokens"
                raise UserError(f"--{name} {value} is outside [0, 1]; give a share of {whole}")
        together = self.drop + self.repeat + self.replace
        if together > 1 + 1e-9:
            raise UserError(
                f"--drop {self.drop}, --repeat {self.repeat} and --replace {self.replace} make "
                f"{together:g} together; a token meets one of them at most: stay at or below 1"
            )


@dataclass
class NoiseCounts:
    """What was done to one line, or to many.

    swapped counts both tokens of a pair that really differ, replaced includes similar; unchanged
    are lines whose tokens stayed as they were, emptied those that lost all.
    """

    lines: int = 0
    empty: int = 0
    unchanged: int = 0
    emptied: int = 0
    tokens: int = 0
    dropped: int = 0
    repeated: int = 0
    swapped: int = 0
    replaced: int = 0
    similar: int = 0

    def add(self, other: "NoiseCounts") -> None:
        """Count what ``other`` has counted as well."""
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def line_random(seed: int, number: int) -> random.Random:
    """The random numbers of line ``number``: the same on any machine and in any order."""
    return random.Random(f"{seed} {number}")  # a text as seed goes through SHA-512


class Vocabulary:
    """Tokens from which replacements are sampled by their counts; never those of count 0."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        known = sorted(token for token, count in counts.items() if count > 0)
        self.tokens: tuple[str, ...] = tuple(known)
        self.counts = {token: counts[token] for token in self.tokens}
        self._ends = list(accumulate(self.counts.values()))
        self._positions = {token: position for position, token in enumerate(self.tokens)}
        self._near: dict[str, tuple[str, ...]] = {}
        self._words = NearWords(self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._positions

    def sample(self, rng: random.Random, other_than: str) -> str | None:
        """A token by its frequency, never ``other_than``; None where there is no other."""
        own, position = 0, self._positions.get(other_than)
        if position is not None:
            own = self.counts[other_than]
        total = self._ends[-1] - own if self._ends else 0
        if total == 0:
            return None
        sampled = int(rng.random() * total)
        if position is not None and sampled >= self._ends[position] - own:
            sampled += own  # step over the token itself
        return self.tokens[bisect_right(self._ends, sampled)]

    def sample_similar(self, rng: random.Random, token: str) -> str | None:
        """One of :meth:`similar` by its frequency; None where there is none."""
        near = self.similar(token)
        if not near:
            return None
        ends = list(accumulate(self.counts[other] for other in near))
        return near[bisect_right(ends, int(rng.random() * ends[-1]))]

    def similar(self, token: str) -> tuple[str, ...]:
        """Tokens within a small edit distance, the most frequent first, ``token`` not among them.

        One insertion, deletion or substitution of a character for tokens of up to ``SHORT``
        characters, two for longer ones, and at least one character stays. At most
        ``MOST_SIMILAR`` are returned.
        """
        if token not in self._near:
            near = (one for one, _ in self._words.find(token) if _is_similar(token, one))
            found = sorted(near, key=lambda one: (-self.counts[one], one))
            self._near[token] = tuple(found[:MOST_SIMILAR])
        return self._near[token]


def _is_similar(token: str, other: str) -> bool:
    edits = 1 if len(token) <= SHORT else 2
    distance = Levenshtein.distance(token, other)
    return 0 < distance <= edits and distance < max(len(token), len(other))


def noisy_line(
    words: Sequence[str], rates: NoiseRates, vocabulary: Vocabulary, rng: random.Random
) -> tuple[list[str], NoiseCounts]:
    """The draft made of one line, and what was done to it.

    Only dropping makes a line shorter; one all of whose tokens happen to be dropped is empty.

    Args:
        vocabulary: where replacements come from. A token stays where there is no other in it; a
            token with nothing similar gets any other.
        rng: of :func:`line_random`.
    """
    counts = NoiseCounts(lines=1, tokens=len(words), empty=int(not words))
    noisy: list[str] = []
    for word in _swapped(words, rates.swap, rng, counts):
        noisy += _corrupt_token(word, rates, vocabulary, rng, counts)
    counts.unchanged = int(noisy == list(words))
    counts.emptied = int(bool(words) and not noisy)
    return noisy, counts


def _swapped(
    words: Sequence[str], share: float, rng: random.Random, counts: NoiseCounts
) -> list[str]:
    """The line with neighbours exchanged, each token at most once."""
    moved = list(words)
    # A pair takes two tokens and is begun only where the one before has not begun one: begun
    # with this probability, the asked share of tokens is in a pair.
    begin = share / (2 - share)
    place = 0
    while share > 0 and place + 1 < len(moved):
        if rng.random() >= begin:
            place += 1
            continue
        if moved[place] != moved[place + 1]:
            moved[place], moved[place + 1] = moved[place + 1], moved[place]
            counts.swapped += 2
        place += 2
    return moved


def _corrupt_token(
    word: str, rates: NoiseRates, vocabulary: Vocabulary, rng: random.Random, counts: NoiseCounts
) -> list[str]:
    """What becomes of one token."""
    sampled = rng.random()
    if sampled < rates.drop:
        counts.dropped += 1
        return []
    if sampled < rates.drop + rates.repeat:
        counts.repeated += 1
        return [word, word]
    if sampled >= rates.drop + rates.repeat + rates.replace:
        return [word]
    similar = rng.random() < rates.similar
    other = vocabulary.sample_similar(rng, word) if similar else None
    if other is not None:
        counts.similar += 1
    else:
        other = vocabulary.sample(rng, word)
    if other is None:
        return [word]
    counts.replaced += 1
    return [other]
