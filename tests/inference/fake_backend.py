"""A corrector's model that follows a script."""

import math
from collections.abc import Callable, Sequence

from fairseq.data.encoders.characters import Characters

from lev_plugins.inference.correction.autoregressive import answer
from lev_plugins.inference.correction.backends import Answer, TextProcessing, Tokens

Rewriting = Callable[[Tokens], Sequence[str | None] | None]
Scoring = Callable[[Sequence[str | None]], Sequence[float]]


def copied(unit: Tokens) -> Tokens:
    return unit


def even(written: Sequence[str | None]) -> list[float]:
    """Every token, </s> included, has a probability of one half."""
    return [math.log(0.5)] * (len(written) + 1)


def replaced(old: str, new: str) -> Rewriting:
    """Writes a text of tokens for another, wherever it stands; characters are tokens."""
    return lambda unit: list("".join(unit).replace(old, new))


class FakeBackend:
    """Reads characters, or words, and writes what ``rewriting`` says.

    Args:
        rewriting: tokens → tokens; None for no end.
        scoring: tokens → log-probabilities of them and of </s>.
        known: the tokens that it can spell; None for all.
    """

    def __init__(
        self,
        rewriting: Rewriting = copied,
        scoring: Scoring = even,
        limit: int = 10_000,
        knows_spaces: bool = True,
        characters: bool = True,
        known: str | None = None,
        processing: TextProcessing | None = None,
    ) -> None:
        self.rewriting, self.scoring, self.known = rewriting, scoring, known
        self.limit, self.knows_spaces = limit, knows_spaces
        processing = processing or TextProcessing(None, Characters() if characters else None)
        self.tokens, self.text = processing.tokens, processing.text
        self.seen: list[Tokens] = []

    def write(self, units: Sequence[Tokens], batch_size: int) -> list[Answer | None]:
        self.seen += units
        return [self._answer(unit) for unit in units]

    def _answer(self, unit: Tokens) -> Answer | None:
        assert 1 <= len(unit) <= self.limit
        written = self.rewriting(unit)
        if written is None:
            return None
        spelt = [token if token is None or self.is_known(token) else None for token in written]
        return answer(unit, spelt, self.scoring(spelt), self.is_known)

    def is_known(self, token: str) -> bool:
        return self.known is None or token in self.known
