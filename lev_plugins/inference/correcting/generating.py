"""Models that write a unit anew by their task's generator (:mod:`..inference.generation`)."""

import math
from collections.abc import Sequence

from lev_correct.models.backend import Answer, Backend, rewriting
from lev_runtime.batching import in_batches
from lev_runtime.search import LONGEST_MORE, LONGEST_RATIO
from lev_runtime.text_processing import Tokens

from ...data.batch import Hypothesis
from ..generation import GeneratingModel


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
        hypotheses = in_batches(self.search, read, map(len, read), batch_size)
        return list(map(self._answer, units, read, hypotheses))

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
