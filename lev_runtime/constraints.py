"""Orders on the tokens of a draft while it is edited: what stays, and what is not written again.

Shapes: T tokens that stand, P tokens to be written, V symbols.
"""

import functools

import numpy as np

from .markup import BEGINS, ENDS, Joining, removed_runs
from .sentence import Sentence
from .text import Dictionary


class Constraints:
    """How the tokens of a dictionary join into words that stay whole."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.symbols = dictionary.symbols

    @functools.cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """V each, bool: whether a token can continue with what stands before it, and behind it."""
        joining = Joining(self.symbols)
        before, behind = np.array([*map(joining.edges, self.symbols)]).T
        return before, behind

    def grown_together(self, sentence: Sentence) -> np.ndarray:
        """T − 1, bool: slots where a word that stays continues in its neighbour."""
        continues, continued = self.edges
        tokens = sentence.tokens
        behind = sentence.standing(ENDS)[:-1] & continues[tokens[1:]]
        before = sentence.standing(BEGINS)[1:] & continued[tokens[:-1]]
        return behind | before

    def allowed_tokens(
        self, sentence: Sentence, places: np.ndarray, choice: np.ndarray
    ) -> np.ndarray:
        """The likeliest tokens at P places that neither grow onto a word that stays nor write again
        what was removed; ``choice``: P × V logits."""
        continues, continued = self.edges
        behind, before = sentence.standing(ENDS)[places - 1], sentence.standing(BEGINS)[places + 1]
        growing = (behind[:, None] & continues) | (before[:, None] & continued)
        choice = np.where(growing, np.float32(-np.inf), choice)
        tokens = choice.argmax(1)
        written = sentence.tokens.copy()
        while True:
            written[places] = tokens
            place = self._rewritten(sentence, written, places)
            if place is None:
                return tokens
            choice[place, tokens[place]] = -np.inf
            tokens[place] = choice[place].argmax()

    def _rewritten(self, sentence: Sentence, tokens: np.ndarray, places: np.ndarray) -> int | None:
        """Which of the places is the first in a sequence that was removed and is being written
        again; ``tokens``: T, all written."""
        new = np.zeros(len(tokens), bool)
        new[places] = True
        for run in sentence.removed:
            size = len(run)
            for start in range(len(tokens) - size + 1):
                here = slice(start, start + size)
                if new[here].any() and tokens[here].tolist() == run:
                    first = start + int(new[here].argmax())
                    return int(np.searchsorted(places, first))
        return None


def orders(draft: np.ndarray, marks: np.ndarray) -> list[list[int]]:
    """The sequences of a draft's tokens that have to go."""
    return removed_runs(draft.tolist(), marks.tolist())
