"""How to decode by iterative refinement, as fairseq's generation options and the task say it."""

import math
from dataclasses import dataclass
from typing import Any

from ....errors import UserError

LARGEST_PENALTY = 3.0  # γ of the paper lies in [0, 3]
# our names of fairseq's generation options
_NAMES = {
    "max_iter": "iter_decode_max_iter",
    "empty_penalty": "iter_decode_eos_penalty",
    "retain_history": "retain_iter_history",
    "unk_penalty": "unkpen",
    "candidates": "iter_decode_with_beam",
    "external_reranker": "iter_decode_with_external_reranker",
    "length_penalty": "lenpen",
    **{name: name for name in ("max_len_a", "max_len_b", "nbest")},
}
# those that ask for what edit models do not do
_UNSUPPORTED = (
    "decoding_format sampling retain_dropout lm_path score_reference print_alignment replace_unk"
)


@dataclass(frozen=True)
class RefinementOptions:
    """How to decode.

    max_iter: T_max, iterations at most. empty_penalty: γ in [0, 3], subtracted from the logit of
    inserting nothing (§3.3). delete_threshold: probability above which a token is deleted, with
    delete_words a word, by the mean of its tokens'. adaptive: stop when nothing changes or a state
    comes back; else always run T_max iterations. max_len_a, max_len_b: nothing is inserted beyond
    a·|source| + b tokens or one and a half times those of the draft, whichever is more.
    unk_penalty: subtracted from the logit of the unknown symbol. candidates: made for each
    sentence; noise_scale, seed: of the noise by which they differ
    (:func:`.candidates.gumbel_noise`). nbest: how many of them are given back at most.
    external_reranker: the last model, an autoregressive one, ranks the candidates, with
    length_penalty. stock: fairseq's own rules (:meth:`.generator.RefinementGenerator.generate`).
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
    external_reranker: bool = False
    length_penalty: float = 1.0
    stock: bool = False
    delete_words: bool = False

    def __post_init__(self) -> None:
        # stock runs one iteration more than it is told
        for flag, value, least in (
            ("--iter-decode-max-iter", self.max_iter, 0 if self.stock else 1),
            ("--iter-decode-with-beam", self.candidates, 1),
            ("--nbest", self.nbest, 1),
            ("--noise-scale", self.noise_scale, 0),
            ("--lenpen", self.length_penalty, -math.inf),
            ("--iter-decode-eos-penalty", self.empty_penalty, -math.inf),
        ):
            if not (least <= value and math.isfinite(value)):
                wanted = "a number" if least < 0 else f"{least} or more"
                raise UserError(f"{flag} {value}: give {wanted}")
        if not 0 <= self.delete_threshold <= 1:
            raise UserError(f"--delete-threshold {self.delete_threshold} is outside [0, 1]")
        if self.nbest > self.candidates:
            raise UserError(
                f"--nbest {self.nbest} asks for more candidates than are made; give "
                f"--iter-decode-with-beam {self.nbest} or more"
            )

    @classmethod
    def from_generation(cls, args: object, **of_the_task: Any) -> "RefinementOptions":
        """From fairseq's generation options (or any namespace with some of them).

        Args:
            **of_the_task: options that are not fairseq's.

        Raises:
            UserError: an option that edit models do not have.
        """
        for name in _UNSUPPORTED.split():
            if getattr(args, name, None):
                flag = "--" + name.replace("_", "-")
                raise UserError(f"{flag} is not supported by edit models; leave it out")
        given = {own: getattr(args, name) for own, name in _NAMES.items() if hasattr(args, name)}
        adaptive = not getattr(args, "iter_decode_force_max_iter", False)
        return cls(adaptive=adaptive, **given, **of_the_task)
