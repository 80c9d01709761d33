"""Noise on whole tokens: a sentence becomes a draft that wants post-editing.

First neighbours change places, then every token by itself is dropped, repeated, replaced or
kept. A token is what stands between spaces; nothing is cut or joined.
"""

import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate

from rapidfuzz.distance import Levenshtein

from ...errors import UserError, require_share
from ...io.text_files import read_lines, refuse_special_tokens
from ..near_words import NearWords
from .rng import choose_weighted

#: Tokens of up to this many characters are similar at one edit, longer ones at two.
SHORT = 5
#: So many similar tokens are kept for a token: the most frequent ones.
MOST_SIMILAR = 50
_COUNT = re.compile(r"[0-9]{1,18}")
_OVERWRITE = "#fairseq:overwrite"  # a flag in dictionary files, behind the count


@dataclass(frozen=True)
class DraftRates:
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
        for name, value in asdict(self).items():
            of = "the replacements" if name == "similar" else "the tokens"
            require_share(f"--{name}", value, of)
        together = self.drop + self.repeat + self.replace
        if together > 1 + 1e-9:
            raise UserError(
                f"--drop {self.drop}, --repeat {self.repeat} and --replace {self.replace} make "
                f"{together:g} together; a token meets one of them at most: stay at or below 1"
            )


class Vocabulary:
    """Tokens from which replacements are sampled by their counts; never those of count 0."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = {token: counts[token] for token in sorted(counts) if counts[token] > 0}
        self.tokens = tuple(self.counts)
        self._ends = list(accumulate(self.counts.values()))
        self._near: dict[str, tuple[str, ...]] = {}
        self._words = NearWords(self.tokens)

    def sample(self, rng: random.Random, other_than: str) -> str | None:
        """A token by its frequency, never ``other_than``; None where there is no other."""
        own = self.counts.get(other_than, 0)
        total = self._ends[-1] - own if self._ends else 0
        if total == 0:
            return None
        sampled = int(rng.random() * total)
        if own and sampled >= self._ends[bisect_right(self.tokens, other_than) - 1] - own:
            sampled += own  # step over the token itself
        return self.tokens[bisect_right(self._ends, sampled)]

    def sample_similar(self, rng: random.Random, token: str) -> str | None:
        """One of :meth:`similar` by its frequency; None where there is none."""
        near = self.similar(token)
        return choose_weighted(rng, near, [self.counts[one] for one in near]) if near else None

    def similar(self, token: str) -> tuple[str, ...]:
        """Tokens within a small edit distance, the most frequent first, ``token`` not among them.

        One insertion, deletion or substitution of a character for tokens of up to ``SHORT``
        characters, two for longer ones, and at least one character stays. At most
        ``MOST_SIMILAR`` are returned.
        """
        if token not in self._near:
            edits = 1 if len(token) <= SHORT else 2
            near = [
                other
                for other, _ in self._words.find(token)
                if 0 < (distance := Levenshtein.distance(token, other)) <= edits
                and distance < max(len(token), len(other))
            ]
            found = sorted(near, key=lambda one: (-self.counts[one], one))
            self._near[token] = tuple(found[:MOST_SIMILAR])
        return self._near[token]


def read_vocabulary(path: str) -> Counter[str]:
    """Tokens and frequencies of a file; a token without a frequency counts once.

    Raises:
        UserError: the file cannot be read, or a line is neither ``token`` nor ``token count``.
    """
    counts: Counter[str] = Counter()
    for number, line in enumerate(read_lines(path), start=1):
        words = line.removesuffix(_OVERWRITE).split()
        if not words:
            continue
        count = words[1] if len(words) > 1 else "1"
        if len(words) > 2 or not _COUNT.fullmatch(count):
            raise UserError(
                f"{path}: line {number}: {line[:60]!r} is neither 'token' nor 'token count', the "
                "count a whole number of up to 18 digits"
            )
        refuse_special_tokens(path, number, words[:1])
        counts[words[0]] += int(count)
    return counts


class Drafts:
    """Noise that makes drafts out of lines.

    Only dropping makes a line shorter; one all of whose tokens happen to be dropped is empty.

    Args:
        vocabulary: where replacements come from. A token stays where there is no other in it; a
            token with nothing similar gets any other.
    """

    def __init__(self, rates: DraftRates, vocabulary: Vocabulary) -> None:
        self.rates, self.vocabulary = rates, vocabulary

    def __call__(self, line: str, rng: random.Random) -> str:
        """The draft made of one line; ``rng``: of :func:`.rng.line_random`."""
        words = line.split()
        noisy = [one for word in self._swapped(words, rng) for one in self._corrupted(word, rng)]
        return line if noisy == words else " ".join(noisy)

    def _swapped(self, words: Sequence[str], rng: random.Random) -> list[str]:
        """The line with neighbours exchanged, each token at most once."""
        moved = list(words)
        # A pair takes two tokens and is begun only where the one before has not begun one: begun
        # with this probability, the asked share of tokens is in a pair.
        begin = self.rates.swap / (2 - self.rates.swap)
        place = 0
        while begin > 0 and place + 1 < len(moved):
            if rng.random() >= begin:
                place += 1
                continue
            moved[place], moved[place + 1] = moved[place + 1], moved[place]
            place += 2
        return moved

    def _corrupted(self, word: str, rng: random.Random) -> list[str]:
        """What becomes of one token."""
        rates, sampled = self.rates, rng.random()
        if sampled < rates.drop:
            return []
        if sampled < rates.drop + rates.repeat:
            return [word, word]
        if sampled >= rates.drop + rates.repeat + rates.replace:
            return [word]
        similar = rng.random() < rates.similar
        other = self.vocabulary.sample_similar(rng, word) if similar else None
        return [other or self.vocabulary.sample(rng, word) or word]
