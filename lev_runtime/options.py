"""How to decode by iterative refinement."""

import math
from dataclasses import dataclass

from .errors import UserError


@dataclass(frozen=True)
class RefinementOptions:
    """How to decode.

    max_iter: iterations at most. empty_penalty: subtracted from the logit of inserting nothing.
    delete_threshold: probability above which a token is deleted. max_len: a sentence may grow to so
    many tokens, or to one and a half times its draft. candidates: made for each sentence;
    noise_scale, seed: of the noise by which they differ. nbest: how many are given back at most.
    history: whether iterations are noted.

    Raises:
        UserError: a value outside of its range.
    """

    max_iter: int = 10
    empty_penalty: float = 0.0
    delete_threshold: float = 0.5
    max_len: int = 200
    candidates: int = 1
    noise_scale: float = 0.5
    seed: int = 1
    nbest: int = 1
    history: bool = True

    def __post_init__(self) -> None:
        for name, least, most in (
            ("max_iter", 1, math.inf),
            ("candidates", 1, math.inf),
            ("nbest", 1, math.inf),
            ("noise_scale", 0, math.inf),
            ("delete_threshold", 0, 1),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise UserError(f"{name}={value} is outside [{least}, {most}]")
        if self.nbest > self.candidates:
            more = f"give candidates={self.nbest} or more"
            raise UserError(f"nbest={self.nbest} asks for more candidates than are made; {more}")
