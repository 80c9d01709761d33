"""Correctors' models that follow a script."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lev_correct import Corrector
from lev_correct.document import Document
from lev_correct.judge.judge import Judge
from lev_correct.propose.backend import (
    Answer,
    Backend,
    Tokens,
    rewriting,
)
from lev_correct.propose.ranking import WordLists, WordRanker
from lev_correct.propose.rescoring import Rescorer
from lev_correct.propose.searching import Pair, Searching, Written
from lev_correct.settings import DEFAULTS, Settings
from lev_correct.text.units import ModelUnit
from lev_correct.words.lexicon import Lexicon, Lookup
from lev_runtime.text.codec import TextProcessing


def document(
    unknown: Callable[[str], bool] = lambda word: False,
    path: str | None = None,
    text: Sequence[str] = (),
) -> Document:
    """A text of which some words do not exist."""
    return Document(Judge(), lambda word: not unknown(word), path, text)


class Characters:
    """Text as its characters, a space as fairseq spells it."""

    def encode(self, text: str) -> str:
        return " ".join(text.replace(" ", "▁"))

    def decode(self, tokens: str) -> str:
        return tokens.replace(" ", "").replace("▁", " ")


def by_character() -> TextProcessing:
    return TextProcessing(None, Characters(), by_letter=True)


Writing = Callable[[Tokens], Sequence[str | None] | None]
Scoring = Callable[[Sequence[str | None]], Sequence[float]]


def even(written: Sequence[str | None]) -> list[float]:
    """Every token, </s> included, has a probability of one half."""
    return [math.log(0.5)] * (len(written) + 1)


def replaced(old: str, new: str) -> Writing:
    """Writes a text of tokens for another, wherever it stands; characters are tokens."""
    return lambda unit: list("".join(unit).replace(old, new))


class FakeBackend(Backend):
    """Reads characters, or words, and writes what ``writing`` says.

    Args:
        writing: tokens → tokens; None for no end.
        scoring: tokens → log-probabilities of them and of </s>.
        known: the tokens that it can spell; None for all.
    """

    def __init__(
        self,
        writing: Writing = lambda unit: unit,
        scoring: Scoring = even,
        limit: int = 10_000,
        knows_spaces: bool = True,
        characters: bool = True,
        known: Sequence[str] | None = None,
        processing: TextProcessing | None = None,
    ) -> None:
        self.writing, self.scoring, self.known = writing, scoring, known
        self.limit, self.knows_spaces = limit, knows_spaces
        self.processing = processing or (by_character() if characters else TextProcessing())
        self.seen: list[Tokens] = []

    def write(
        self,
        units: Sequence[ModelUnit],
        batch_size: int,
        doubts: bool = False,
    ) -> list[Answer | None]:
        return [self._answer(unit.text) for unit in units]

    def _answer(self, text: str) -> Answer | None:
        unit = self.processing.tokens(text)
        self.seen.append(unit)
        assert 1 <= len(unit) <= self.limit
        written = self.writing(unit)
        if written is None:
            return None
        spelt = [token if token is None or self.is_known(token) else None for token in written]
        rewritten = rewriting(unit, spelt, self.scoring(spelt), self.is_known)
        return rewritten.answer(text, self.processing)

    def is_known(self, token: str) -> bool:
        return self.known is None or token in self.known


class Scripted(Searching):
    """Writes ``words``, and likes every text alike but for those in ``likes``."""

    def __init__(
        self,
        words: Mapping[str, Sequence[str]] | None = None,
        likes: Mapping[str, float] | None = None,
    ) -> None:
        self.script, self.likes, self.asked = words or {}, likes or {}, list[str]()
        self.limit, self.knows_spaces = 40, True
        self.processing = by_character()

    def knows(self, tokens: Iterable[str]) -> bool:
        text = "".join(tokens).replace("▁", "")
        return text.isascii() or "—" in text

    def nbest(
        self, units: Sequence[Tokens], batch_size: int, others: Sequence[Sequence[Tokens]] = ()
    ) -> list[Written]:
        asked = list(map(self.processing.text, units))
        self.asked += asked
        return [
            {
                self.processing.tokens(candidate): self.likes.get(candidate, -5.0)
                for candidate in candidates
            }
            for candidates in (self.script.get(unit, ()) for unit in asked)
        ]

    def score(self, pairs: Sequence[Pair], batch_size: int) -> list[float]:
        return [self.likes.get(self.processing.text(text), -5.0) for _, text in pairs]


LEXICON = Lexicon({"the": 100.0, "cat": 20.0, "cats": 5.0, "receive": 9.0, "to": 70.0})
#: Weights of the tests' rankings; all others are 0.
WEIGHTS = {"model": 0.7, "lexicon": 4.0, "frequency": 0.15, "unchanged": 2.0, "capital": 3.0,
           "lookup": 4.0, "misspelt": 0.3}  # fmt: skip


def ranking(
    model: Searching | None = None,
    lexicon: Lexicon | None = LEXICON,
    pairs: Iterable[tuple[str, str]] = (),
    unit: str = "letters",
    weights: Mapping[str, float] = WEIGHTS,
    longest: int | None = None,
    settings: Settings = DEFAULTS,
    **more: Any,
) -> Corrector:
    """A corrector that ranks what a scripted model and some lists propose."""
    table = Lookup(pairs) if (pairs := list(pairs)) else None
    model, known = model or Scripted(), WordLists(lexicon, table, **more)
    ranker = Rescorer if unit == "line" else WordRanker
    return Corrector(ranker(model, known, weights, longest), unit, settings=settings)


def ranker_of(corrector: Corrector) -> WordRanker:
    ranker = corrector.backend
    assert isinstance(ranker, WordRanker)
    return ranker
