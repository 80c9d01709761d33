"""Says what a search writes, and how; the options of ``fairseq-generate``."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError, require_count, require_number

Numbers = NDArray[np.int64]
#: of a penalty or a ratio
_LEAST, _MOST = -1e4, 1e4


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search; each is fairseq's of that name.

    Args:
        beam: width of the search; 1 is greedy.
        max_len_a, max_len_b: a text has no more tokens than ``a · S + b``, S being those of its
            source with </s>, and than the model can write. fairseq takes the longest source of a
            batch for S.
        min_len: and no less than this.
        lenpen: scores are divided by the length to this power; above 1 prefers longer texts.
        unkpen: taken off the log-probability of an unknown word.
        draft_guided: reads ahead in the draft, or in the source if there is none: the texts of
            ``beam=1`` in fewer passes.

    Raises:
        UserError: a value that cannot be.
    """

    beam: int = 5
    max_len_a: float = 0.0
    max_len_b: int = 200
    min_len: int = 1
    lenpen: float = 1.0
    unkpen: float = 0.0
    draft_guided: bool = False

    def __post_init__(self) -> None:
        for name in ("beam", "max_len_b", "min_len"):
            require_count(name, getattr(self, name))
        require_number("max_len_a=", self.max_len_a, 0, _MOST)
        for name in ("lenpen", "unkpen"):
            require_number(f"{name}=", getattr(self, name), _LEAST, _MOST)
        if self.draft_guided and self.beam != 1:
            raise UserError(f"draft_guided=True is greedy, but beam={self.beam}: give beam=1")

    def limits(self, lengths: Numbers, longest: int) -> Numbers:
        """Returns the most tokens of a text, for sources of these lengths; ``longest``: of any.

        Raises:
            UserError: less than :attr:`min_len`.
        """
        limits = (self.max_len_a * lengths + self.max_len_b).astype(np.int64)
        limits = np.minimum(limits, longest)
        if limits.min(initial=self.min_len) < self.min_len:
            raise UserError(f"min_len={self.min_len}: texts have {limits.min()} tokens at most")
        return limits

    def score(self, log: float, length: int) -> float:
        """Returns the score of a text of so many tokens, </s> included."""
        return log / length**self.lenpen


DEFAULTS = SearchOptions()
