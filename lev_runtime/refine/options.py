"""How to decode by iterative refinement."""

from dataclasses import dataclass, fields

from ..errors import LARGEST, UserError, require_number

#: The least that options may be, and the most; others may be any number.
_RANGES = {
    **dict.fromkeys(("max_iter", "candidates", "nbest"), (1, LARGEST)),
    "noise_scale": (0, LARGEST),
    "empty_penalty": (0, 3),
    "delete_threshold": (0, 1),
}


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
        UserError: a value outside of its range, or what is no number.
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
        for field in fields(self):
            name, kind = field.name, type(field.default)
            value = getattr(self, name)
            if kind is not bool and value is not field.default:
                limits = _RANGES.get(name, (-LARGEST, LARGEST))
                number = require_number(self.spelt(name), value, *limits, kind)
                object.__setattr__(self, name, number)
        if self.nbest > self.candidates:
            nbest, more = self.spelt("nbest"), self.spelt("candidates")
            raise UserError(f"{nbest}{self.nbest}: give {more}{self.nbest} or more")

    @staticmethod
    def spelt(name: str) -> str:
        """Returns what the user typed before the value of an option."""
        return f"{name}="
