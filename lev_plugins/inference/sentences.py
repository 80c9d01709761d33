"""A sentence on its way through an editor: from text to tokens, from hypotheses to traces."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairseq.data import Dictionary
from torch import Tensor

from ..systems.levenshtein.decoding.history import EditTrace, Iteration
from ..systems.levenshtein.decoding.records import EditHypothesis, Step
from ..systems.levenshtein.task import Draft
from .arguments import Row as Row
from .arguments import Terms as Terms
from .arguments import read_rows as read_rows


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

    def trace(self, text: str, found: EditHypothesis) -> EditTrace:
        """What was done to the sentence; ``text`` is the outcome."""
        steps, ending = tuple(self._iterations(found["history"])), found["terminated"]
        how = found["score"], steps, ending, found["steps"]
        return EditTrace(self.source, self.draft, text, *how)

    def _iterations(self, history: Sequence[Step]) -> Iterator[Iteration]:
        """The history has the draft, then deletions, placeholders and tokens in turn."""
        for before, delete, after in zip(history[0::3], history[1::3], history[3::3]):
            yield Iteration(
                before=self.symbols(before),
                deleted=tuple((~delete["mask"])[1 : len(before["tokens"]) - 1].tolist()),
                after=self.symbols(after),
                inserted=tuple(after["mask"][1 : len(after["tokens"]) - 1].tolist()),
                delete_probabilities=_probabilities(delete["scores"]),
                token_probabilities=_probabilities(after["scores"]),
            )


def _probabilities(scores: Tensor) -> tuple[float, ...]:
    """Of log-probabilities, those of <s> and </s> left out."""
    return tuple(round(value, 6) for value in scores[1:-1].exp().tolist())
