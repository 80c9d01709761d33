"""Misspellings that people could make, for words of which none is listed.

Two kinds, mixed: what others did to other words (an edit of a listed misspelling, made anew where
the letters around it are the same), and slips of the fingers (a letter left out, doubled, put in
from a neighbouring key, replaced by one, or exchanged with the next).
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable

from rapidfuzz.distance import Indel

from lev_plugins.data.noise.letters import NEIGHBOURS
from lev_runtime.text.source_change import changes

Pair = tuple[str, str]  # misspelling, word
LETTERS = "abcdefghijklmnopqrstuvwxyz"
START, END = "^", "$"
LEARNED = 0.65  # share of the edits that others made
EDITS = (0.72, 0.22, 0.06)  # shares of one, two and three edits in a word
SHORT = 5  # words of fewer letters have one
LONGEST = 2  # letters that an edit takes or gives, at most
FLATTEN = 0.7  # how much the most frequent edits lead


class Typist:
    """Misspells words.

    Args:
        pairs: listed misspellings and their words, in small letters.
        rng: random numbers.
    """

    def __init__(self, pairs: Iterable[Pair], rng: random.Random) -> None:
        self.rng = rng
        counts: Counter[tuple[str, int, str]] = Counter()
        for typo, word in pairs:
            before, after = START + word + END, START + typo + END
            for i, j, k, m in changes(Indel.editops(before, after)):
                if j - i <= LONGEST and m - k <= LONGEST:
                    counts[before[i - 1 : j + 1], j - i, after[k:m]] += 1
        self.edits: dict[tuple[str, int], list[tuple[str, float]]] = defaultdict(list)
        for (context, size, new), count in counts.items():
            if count > 1:
                self.edits[context, size].append((new, count**FLATTEN))

    def __call__(self, word: str) -> str:
        """A misspelling of a word; now and then the word itself."""
        count = self.rng.choices((1, 2, 3), EDITS)[0] if len(word) >= SHORT else 1
        for _ in range(count):
            word = self._learned(word) if self.rng.random() < LEARNED else self._slip(word)
        return word

    def _learned(self, word: str) -> str:
        text = START + word + END
        edits, weights = [], []
        for place in range(1, len(text)):
            for size in range(min(LONGEST, len(text) - 1 - place) + 1):
                for new, weight in self.edits.get((text[place - 1 : place + size + 1], size), ()):
                    edits.append((place, size, new))
                    weights.append(weight)
        if not edits:
            return self._slip(word)
        place, size, new = self.rng.choices(edits, weights)[0]
        return (text[:place] + new + text[place + size :])[1:-1] or word

    def _slip(self, word: str) -> str:
        rng = self.rng
        place = rng.randrange(len(word))
        letter, rest = word[place], word[place + 1 :]
        near = rng.choice([*NEIGHBOURS.get(letter, LETTERS), rng.choice(LETTERS)])
        kind = rng.choice(("delete", "insert", "substitute", "exchange"))
        if kind == "delete":
            new = rest
        elif kind == "insert":
            extra = rng.choice((letter, near))
            new = rng.choice((extra + letter, letter + extra)) + rest
        elif kind == "substitute":
            new = near + rest
        else:
            new = rest[:1] + letter + rest[1:]
        return word[:place] + new or word
