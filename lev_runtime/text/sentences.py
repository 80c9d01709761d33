"""A sentence on its way through an editor: from text to tokens, from hypotheses to traces."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..refine.arrays import Array
from ..refine.history import EditTrace, Iteration
from ..refine.records import EditHypothesis, Step


class Draft(NamedTuple):
    """A draft as tokens: lists here, tensors in the package.

    words: as they were typed, known to the model or not. tokens: their numbers, <s> and </s> with
    them. marks: the bits of the marks on each of these.
    """

    words: list[str]
    tokens: Any
    marks: Any


@dataclass(frozen=True)
class Sentence:
    """A sentence as text and as tokens.

    coded: the draft, or the terms in its place. tokens: of the source, <s> and </s> with them.
    dictionary: gives symbols by their numbers.
    """

    source: str
    draft: str | None
    coded: Draft
    tokens: Any
    dictionary: Any

    def symbols(self, state: Step | EditHypothesis) -> tuple[str, ...]:
        """Returns a state's tokens as strings; what stands since the draft, as it was typed."""
        tokens = state["tokens"].tolist()[1:-1]
        origins = state["origin"].tolist()[1:-1]
        symbols = []
        for token, origin in zip(tokens, origins):
            symbol = self.dictionary[token] if origin < 0 else self.coded.words[origin - 1]
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
        groups = itertools.groupby(history, key=lambda step: step["iteration"])
        iterations = [list(group) for _, group in groups]
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
                _probabilities(deletion_scores),
                _probabilities(after["scores"]),
            )


def _probabilities(scores: Array | None) -> tuple[float, ...]:
    """Returns probabilities, those of <s> and </s> left out; none of none."""
    logs = [] if scores is None else scores.tolist()[1:-1]
    return tuple(round(math.exp(log), 6) for log in logs)
