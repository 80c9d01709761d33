"""How many of a text's unknown words are errors, estimated from the text itself.

In a list of misspellings nearly every word that no list has is an error, in right text nearly none
is. A model that is sure of each word alone is told by the others how often it is right to be:
expectation maximization finds the share of errors under which what the model says of all words is
most probable (Saerens et al., 2002, "Adjusting the Outputs of a Classifier to New a Priori
Probabilities").
"""

import math
from collections import Counter
from collections.abc import Callable, Container, Sequence

import numpy as np

from .confidence import times_odds
from .judge import REPEATED, Kind, Terms

#: The share of errors that a ranking is tuned to expect: nearly all, so that it says of each
#: unknown word what would be written if it were wrong.
EXPECTED = 0.95
#: Errors and right words that a text is taken to have had before it is read. Its share of errors
#: is never taken to be lower than theirs: names look alike in all texts.
ERRORS, RIGHT = 1.0, 4.0
LOWEST = ERRORS / (ERRORS + RIGHT)
#: By how much the odds of a change of spaces or apostrophes, or of a slip, are divided where the
#: bar is highest, in nats.
BARS: dict[Kind, float] = {
    "apostrophe": 16.0, "left out": 8.0, "put in": 12.0, "doubled": 0.0, "slip": 24.0
}  # fmt: skip
_STEPS = 50
_SUREST = 1 - 1e-9


class TextPrior(Terms):
    """Judges edits of unknown words by the share of errors among those of their text.

    Args:
        unknown, met: as of :class:`.Terms`.
        doubt: the probability that an unknown word is wrong, where :data:`EXPECTED` of them are.
        stays: words that tell nothing, since they stay.
    """

    def __init__(
        self,
        unknown: Callable[[str], bool],
        doubt: Callable[[str], float],
        stays: Container[str] = (),
        met: Counter[str] | None = None,
    ) -> None:
        super().__init__(unknown, met)
        self._doubt, self._stays = doubt, stays
        self._doubts: dict[str, float] = {}  # of unknown words; 0 where no edit is wanted
        self._share: float | None = None  # until a word comes

    def count(self, unknown: Sequence[str]) -> None:
        """See :class:`.Terms`; each word counts once."""
        for word in unknown:
            if word not in self._stays:
                self._doubts.setdefault(word, 0.0)
        self._share = None

    def learn(self, word: str, asked: str, chance: float) -> None:
        """See :class:`.Judge`."""
        if word in self._doubts:
            self._doubts[word] = min(max(chance, self._doubt(asked)), _SUREST)
            self._share = None

    @property
    def share(self) -> float:
        """Errors among the unknown words."""
        if self._share is None:
            self._share = max(self._estimated(), LOWEST)
        return self._share

    def _estimated(self) -> float:
        doubts = np.array([*self._doubts.values()])
        odds = doubts / (1 - doubts) / _odds(EXPECTED)
        share = EXPECTED
        for _ in range(_STEPS):
            odds_here = odds * _odds(share)
            errors = float((odds_here / (1 + odds_here)).sum())
            share = (errors + ERRORS) / (len(doubts) + ERRORS + RIGHT)
        return share

    def probability(
        self, start: int, before: str, after: str, chance: float, kind: Kind = "word"
    ) -> float:
        """Returns that of an edit in this text."""
        if kind != "word":
            higher = log_odds(EXPECTED) - log_odds(self.share)
            bar = BARS[kind] * max(higher, 0.0) / (log_odds(EXPECTED) - log_odds(LOWEST))
            return times_odds(chance, math.exp(-bar))
        doubt = max(self._doubts.get(before, 0.0), chance)
        factor = max(self.met[before], 1) ** -REPEATED
        if before in self._doubts:
            factor *= _odds(self.share) / _odds(EXPECTED)
        return chance * factor / (1 - doubt + doubt * factor)


def _odds(share: float) -> float:
    return share / (1 - share)


def log_odds(share: float) -> float:
    """Returns the log-odds of a share; one of none or all is taken to be nearly so."""
    return math.log(_odds(min(max(share, 1 - _SUREST), _SUREST)))
