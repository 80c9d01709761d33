"""Models that write a unit anew by their task's generator (:mod:`..inference.generation`)."""

import math
from collections.abc import Callable, Sequence

from ..data.batch import Hypothesis
from ..data.batching import in_batches
from ..inference.generation import LONGEST_MORE, LONGEST_RATIO, GeneratingModel
from ..inference.text_processing import Tokens
from .backends import Answer, Backend, Rewriting
from .edits import script


class Generating(GeneratingModel, Backend):
    """A :class:`~.backends.Backend` over the generator of a task.

    The probability of a change is the product of the probabilities, each given the unit and all
    that is written before it, of the tokens that it writes and of the token right behind them,
    with which the model goes back to the unit; a deletion has that token alone.
    """

    def write(
        self, units: Sequence[str], batch_size: int, contexts: Sequence[object] = ()
    ) -> list[Answer | None]:
        """See :class:`~.backends.Backend`."""
        read = list(map(self.processing.tokens, units))
        found = in_batches(self.search, read, map(len, read), batch_size)
        return list(map(self._answer, units, read, found))

    def _answer(self, text: str, unit: Tokens, hypotheses: Sequence[Hypothesis]) -> Answer | None:
        """The best hypothesis that came to an end by itself, within the unit's own limit."""
        most = getattr(self.generator, "max_len", math.inf)
        limit = min(LONGEST_RATIO * (len(unit) + 1) + LONGEST_MORE, most - 1)
        for hypothesis in hypotheses:
            written = [self.symbols.get(number) for number in hypothesis["tokens"].tolist()[:-1]]
            if len(written) < limit:
                scores = hypothesis["positional_scores"].tolist()
                return rewriting(unit, written, scores, self._known).answer(text, self.processing)
        return None


def rewriting(
    unit: Tokens,
    written: Sequence[str | None],
    scores: Sequence[float],
    known: Callable[[str], bool],
) -> Rewriting:
    """What a left-to-right model changed.

    Args:
        written: its tokens without </s>; None for ``<unk>``.
        scores: the log-probability of each, and that of </s>.
        known: whether the model can write a token; one that it cannot stays as it was typed where
            a minimal script keeps it beside an ``<unk>``.
    """
    changes = script([token if known(token) else None for token in unit], written)
    tokens = list(written)
    gone: list[float | None] = [None] * len(unit)
    come: list[float | None] = [None] * len(tokens)
    place = number = 0
    for i, j, k, m in [*changes, (len(unit), len(unit), len(tokens), len(tokens))]:
        tokens[number:k] = unit[place:i]
        gone[i:j], come[k:m] = [0.0] * (j - i), scores[k:m]
        if m > k:
            come[m - 1] = scores[m - 1] + scores[m]
        elif j > i:
            gone[j - 1] = scores[m]
        place, number = j, m
    return Rewriting(unit, tokens, gone, come)
