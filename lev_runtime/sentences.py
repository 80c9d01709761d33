"""A sentence on its way through an editor: from text to tokens, from hypotheses to traces."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .arrays import NUMPY, Array, Arrays
from .history import EditTrace, Iteration
from .records import EditHypothesis, Step


class Draft(NamedTuple):
    """A draft's tokens, <s> and </s> with them, and the bits of the marks on each."""

    tokens: Array
    marks: Array


@dataclass(frozen=True)
class Sentence:
    """A sentence as text and as tokens.

    words: the draft's, or the terms', tokens as they were typed, known to the model or not.
    tokens: of the source. coded: of the draft; both with <s> and </s>. dictionary: gives
    symbols by their numbers.
    """

    source: str
    draft: str | None
    words: Sequence[str]
    tokens: Array
    coded: Draft
    dictionary: Any
    arrays: ClassVar[Arrays] = NUMPY

    def symbols(self, state: Step | EditHypothesis) -> tuple[str, ...]:
        """Returns a state's tokens as strings; what stands since the draft, as it was typed."""
        tokens = state["tokens"].tolist()[1:-1]
        origins = state["origin"].tolist()[1:-1]
        symbols = []
        for token, origin in zip(tokens, origins):
            symbol = self.dictionary[token] if origin < 0 else self.words[origin - 1]
            symbols.append(symbol)
        return tuple(symbols)

    def trace(self, text: str, hypothesis: EditHypothesis) -> EditTrace:
        """Returns the trace of the sentence; ``text`` is the outcome."""
        return EditTrace(
            self.source,
            self.draft,
            text,
            hypothesis["score"],
            tuple(self._iterations(hypothesis["history"])),
            hypothesis["terminated"],
            hypothesis["steps"],
        )

    def _iterations(self, history: Sequence[Step]) -> Iterator[Iteration]:
        """Yields the changes that each iteration of a history made."""
        iterations = [list(group) for _, group in itertools.groupby(history, key=_number)]
        for (*_, before), steps in itertools.pairwise(iterations):
            after = steps[-1]
            # of each token that stands now its place in ``before``, where <s> has place 0
            since = after["since"].tolist()[1:-1]
            stays = set(since)
            last = len(before["tokens"]) - 1
            deleted = tuple(place not in stays for place in range(1, last))
            inserted = tuple(place < 0 for place in since)
            deletion_scores = steps[0].get("scores")  # the first phase is deletion
            yield Iteration(
                self.symbols(before),
                deleted,
                self.symbols(after),
                inserted,
                self._probabilities(deletion_scores),
                self._probabilities(after["scores"]),
            )

    def _probabilities(self, scores: Array | None) -> tuple[float, ...]:
        """Returns probabilities, those of <s> and </s> left out; none of none."""
        if scores is None:
            return ()
        probabilities = self.arrays.xp.exp(scores[1:-1])
        return tuple(round(value, 6) for value in probabilities.tolist())


def _number(step: Step) -> int:
    return step["iteration"]
