"""Which words translate each other: IBM model 1 (Brown et al., 1993) and competitive linking
(Melamed, 2000).

Own numpy: on 7,988 pairs NLTK's IBMModel1 takes 7.6 CPU seconds for both directions (five
iterations), this 0.8 (four); links come from both directions, which NLTK has not.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

import numpy as np
import regex

from .code import FIXED
from .scripts import SINGLE

ITERATIONS = 4
LONGEST = 30  # words of a text that is learnt from
MOST_CELLS = 3_000_000  # of pairs of words, 120 MB; the shortest texts come first
LIKELY = 0.02  # least probability that links two words
PRIOR = 0.5  # occurrences of other translations that a word is source
SLANT = 0.15  # of a link from the first word to the last
COGNATE, PREFIX = 0.05, 4  # probability of a word that begins alike, letters of that beginning
_TOKEN = regex.compile(
    rf"(?V1){FIXED}|&\w+;|[{SINGLE}]|(?:(?![{SINGLE}])[\p{{L}}\p{{M}}\d_])+(?:['’](?=\p{{L}}))?|[^\s\p{{L}}\d]"
)
_LETTER = regex.compile(r"\p{L}")
Links = dict[int, int]


class Token(NamedTuple):
    """A word, a mark or code, and where it stands in its text; ``key``: a word in small letters."""

    start: int
    end: int
    text: str
    key: str


def tokens_of(text: str) -> list[Token]:
    """Returns the tokens of a text; an article before an apostrophe is one (``l'``)."""
    tokens = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        key = match[0].lower() if is_word(match[0]) else match[0]
        tokens.append(Token(start, end, match[0], key))
    return tokens


def is_word(token: str) -> bool:
    return bool(_LETTER.match(token))


def probabilities(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
) -> dict[tuple[int, int], float]:
    """Returns t(target word | source word) of IBM model 1, for numbered words; 0 is no word."""
    size = 1 + max(max(y) for _, y in pairs)
    cells = [np.tile([0, *x], len(y)) * size + np.repeat(y, len(x) + 1) for x, y in pairs]
    coded, index = np.unique(np.concatenate(cells), return_inverse=True)
    widths = np.repeat([len(x) + 1 for x, _ in pairs], [len(y) for _, y in pairs])
    starts = np.cumsum(widths) - widths
    source = coded // size
    table = np.ones(len(coded), np.float32)
    for _ in range(ITERATIONS):
        share = table[index]
        share /= np.repeat(np.add.reduceat(share, starts), widths)
        counts = np.bincount(index, share)
        table = (counts / (np.bincount(source, counts)[source] + PRIOR)).astype(np.float32)
    kept = np.flatnonzero((table > LIKELY**2) & (source > 0))
    return {divmod(int(coded[i]), size): float(table[i]) for i in kept}


class TranslationTable:
    """Words and their translations, with probabilities of both directions.

    Attributes:
        translations: of each word, in small letters.
        source_of: the likeliest source of each word of a translation.
    """

    def __init__(self, pairs: Iterable[tuple[Sequence[Token], Sequence[Token]]]) -> None:
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers) + 1)
        sides = []
        for pair in pairs:
            coded = [[numbers[t.key] for t in side if is_word(t.text)] for side in pair]
            if all(0 < len(side) <= LONGEST for side in coded):
                sides.append((coded[0], coded[1]))
        sides.sort(key=lambda pair: len(pair[0]) * len(pair[1]))
        used = np.cumsum([(len(x) + 1) * (len(y) + 1) for x, y in sides]) <= MOST_CELLS
        sides = sides[: int(used.sum())]
        self.translations: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self.source_of: dict[str, str] = {}
        if not sides:
            return
        forward, backward = probabilities(sides), probabilities([(y, x) for x, y in sides])
        words, best = ["", *numbers], dict[str, float]()
        for (x, y), chance in forward.items():
            both = (chance * backward.get((y, x), 0.0)) ** 0.5
            source, target = words[x], words[y]
            if both > LIKELY:
                self.translations[source][target] = both
            if both > best.get(target, LIKELY):
                best[target], self.source_of[target] = both, source

    def covered(self, words: Iterable[str], there: Set[str]) -> float:
        """Returns the least probability of the words' likeliest translations among those there."""
        chances = []
        for word in filter(is_word, words):
            known = self.translations.get(word, {}).items()
            chances.append(max((c for w, c in known if w in there), default=float(word in there)))
        return min(chances, default=0.0)

    def links(self, source: Sequence[Token], target: Sequence[Token]) -> tuple[Links, Links]:
        """Returns which token of a translation each one of its source has, and the reverse: each at
        most one, the likeliest pairs first."""
        where, alike = defaultdict(list), defaultdict(list)
        for j, token in enumerate(target):
            where[token.key].append(j)
            if is_word(token.text) and len(token.key) >= PREFIX:
                alike[token.key[:PREFIX]].append(j)
        scored = []
        for i, token in enumerate(source):
            chances = dict.fromkeys(alike.get(token.key[:PREFIX], ()), COGNATE)
            for word, chance in self.translations.get(token.key, {}).items():
                chances |= dict.fromkeys(where.get(word, ()), chance)
            chances |= dict.fromkeys(where.get(token.key, ()), 1.0)
            for j, chance in chances.items():
                scored.append((SLANT * abs(i / len(source) - j / len(target)) - chance, i, j))
        forward, backward = Links(), Links()
        for _, i, j in sorted(scored):
            if i not in forward and j not in backward:
                forward[i], backward[j] = j, i
        return forward, backward
