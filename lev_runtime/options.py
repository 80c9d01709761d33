"""How to decode by iterative refinement."""

import math
from dataclasses import dataclass

from .errors import UserError


@dataclass(frozen=True)
class RefinementOptions:
    """Options of decoding.

    max_iter: T_max, iterations at most. empty_penalty: γ in [0, 3], subtracted from the logit of
    inserting nothing (§3.3). delete_threshold: probability above which a token is deleted.
    adaptive: stop when nothing changes or a state comes back; else always run T_max iterations.
    retain_history: whether iterations are noted. max_len_a, max_len_b: nothing is inserted beyond
    a·|source| + b tokens or one and a half times those of the draft, whichever is more.
    unk_penalty: subtracted from the logit of the unknown symbol. candidates: made for each
    sentence; noise_scale, seed: of the noise by which they differ. nbest: how many are given back
    at most.

    Raises:
        UserError: a value outside of its range.
    """

    max_iter: int = 10
    empty_penalty: float = 0.0
    delete_threshold: float = 0.5
    adaptive: bool = True
    retain_history: bool = False
    max_len_a: float = 0.0
    max_len_b: int = 200
    unk_penalty: float = 0.0
    candidates: int = 1
    noise_scale: float = 0.5
    seed: int = 1
    nbest: int = 1

    def __post_init__(self) -> None:
        for name, least, most in self.ranges():
            value = getattr(self, name)
            if not least <= value <= most:
                raise UserError(f"{self.spelt(name, value)} is outside [{least}, {most}]")
        if self.nbest > self.candidates:
            wanted = self.spelt("nbest", self.nbest)
            more = self.spelt("candidates", self.nbest)
            raise UserError(f"{wanted} is more than the number of candidates; give {more} or more")

    def ranges(self) -> list[tuple[str, float, float]]:
        """Returns the names of options, and the least and the most that each may be."""
        return [
            ("max_iter", 1, math.inf),
            ("candidates", 1, math.inf),
            ("nbest", 1, math.inf),
            ("noise_scale", 0, math.inf),
            ("delete_threshold", 0, 1),
        ]

    @staticmethod
    def spelt(name: str, value: float) -> str:
        """Returns an option as the user typed it."""
        return f"{name}={value}"
