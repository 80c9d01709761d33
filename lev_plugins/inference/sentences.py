"""A sentence on its way through an editor: from text to tokens, from hypotheses to traces."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairseq.data import Dictionary
from torch import Tensor

from ..systems.levenshtein.decoding.history import EditTrace, Iteration
from ..systems.levenshtein.decoding.records import EditHypothesis, Step
from ..systems.levenshtein.task import Draft


class Sentence(NamedTuple):
    """A sentence as text and as tokens.

    words: the draft's, or the terms', tokens as they were typed, known to the model or not.
    tokens: of the source. coded: of the draft; both with <s> and </s>.
    """

    source: str
    draft: str | None
    words: Sequence[str]
    tokens: Tensor
    coded: Draft
    dictionary: Dictionary

    def symbols(self, state: Step | EditHypothesis) -> tuple[str, ...]:
        """A state's tokens as strings; what stands since the draft, as it was typed."""
        tokens, origins = (state[name].tolist()[1:-1] for name in ("tokens", "origin"))
        return tuple(
            self.dictionary[token] if origin < 0 else self.words[origin - 1]
            for token, origin in zip(tokens, origins)
        )

    def trace(self, text: str, hypothesis: EditHypothesis) -> EditTrace:
        """What was done to the sentence; ``text`` is the outcome."""
        iterations = tuple(self._iterations(hypothesis["history"]))
        ending, count = hypothesis["terminated"], hypothesis["steps"]
        score = hypothesis["score"]
        return EditTrace(self.source, self.draft, text, score, iterations, ending, count)

    def _iterations(self, history: Sequence[Step]) -> Iterator[Iteration]:
        """What each iteration of a history made of the last step of the one before."""
        iterations = [list(group) for _, group in itertools.groupby(history, key=_number)]
        for (*_, before), steps in itertools.pairwise(iterations):
            after = steps[-1]
            # of each token that stands now its place in ``before``, where <s> has place 0
            since = after["since"].tolist()[1:-1]
            stays = set(since)
            places = range(1, len(before["tokens"]) - 1)
            deleted = tuple(place not in stays for place in places)
            inserted = tuple(place < 0 for place in since)
            origins = tuple(None if place < 0 else place - 1 for place in since)
            yield Iteration(
                before=self.symbols(before),
                deleted=deleted,
                after=self.symbols(after),
                inserted=inserted,
                delete_probabilities=_of_deletions(steps),
                token_probabilities=_probabilities(after["scores"]),
                origins=origins,
            )


def _of_deletions(steps: Sequence[Step]) -> tuple[float, ...]:
    """Of deleting each token that entered an iteration; empty where nothing deletes."""
    revisions = [step for step in steps if step["stage"] == "revise"]
    scores = revisions[0].get("scores") if revisions else None
    return () if scores is None else _probabilities(scores)


def _number(step: Step) -> int:
    return step["iteration"]


def _probabilities(scores: Tensor) -> tuple[float, ...]:
    """Of log-probabilities, those of <s> and </s> left out."""
    return tuple(round(value, 6) for value in scores[1:-1].exp().tolist())
