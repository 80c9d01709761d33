"""How to decode by iterative refinement, as fairseq's generation options and the task say it."""

import math
from dataclasses import dataclass
from typing import Any

from ....errors import UserError
from .diversity import Diversity

LARGEST_PENALTY = 3.0  # γ of the paper lies in [0, 3]
# generation options of fairseq that ask for what edit models do not do
UNSUPPORTED = (
    "decoding_format",
    "sampling",
    "retain_dropout",
    "lm_path",
    "score_reference",
    "print_alignment",
    "replace_unk",
)


@dataclass(frozen=True)
class RefinementOptions:
    """How to decode.

    max_iter: T_max, iterations at most. empty_penalty: γ in [0, 3], subtracted from the logit of
    inserting nothing (§3.3). delete_threshold: probability above which a token is deleted.
    adaptive: stop when nothing changes or a state comes back; else always run T_max iterations.
    max_len_a, max_len_b: nothing is inserted beyond a·|source| + b tokens or one and a half times
    those of the draft, whichever is more. unk_penalty: subtracted from the logit of the unknown
    symbol. diversity: candidates a sentence. nbest: how many of them are given back at most.
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
    diversity: Diversity = Diversity()
    nbest: int = 1
    external_reranker: bool = False
    length_penalty: float = 1.0
    stock: bool = False

    def __post_init__(self) -> None:
        if self.max_iter < (0 if self.stock else 1):  # stock runs one more than it is told
            raise UserError(
                f"--iter-decode-max-iter {self.max_iter}: at least one iteration is needed"
            )
        if not 0 <= self.delete_threshold <= 1:
            raise UserError(f"--delete-threshold {self.delete_threshold} is outside [0, 1]")
        for flag, value in (
            ("--lenpen", self.length_penalty),
            ("--iter-decode-eos-penalty", self.empty_penalty),
        ):
            if not math.isfinite(value):
                raise UserError(f"{flag} {value}: must be a number")
        if self.nbest < 1:
            raise UserError(f"--nbest {self.nbest}: at least 1 answer is needed")
        if self.nbest > self.diversity.count:
            raise UserError(
                f"--nbest {self.nbest} asks for more candidates than are made; give "
                f"--iter-decode-with-beam {self.nbest} or more"
            )

    @classmethod
    def from_generation(cls, args: object, **of_the_task: Any) -> "RefinementOptions":
        """From fairseq's generation options (or any namespace with some of them).

        Args:
            **of_the_task: options that are not fairseq's: delete_threshold and stock, and
                noise_scale and seed for the diversity.

        Raises:
            UserError: an option that edit models do not have.
        """
        for name in UNSUPPORTED:
            if getattr(args, name, None):
                flag = "--" + name.replace("_", "-")
                raise UserError(f"{flag} is not supported by edit models; leave it out")
        diversity = Diversity(
            count=getattr(args, "iter_decode_with_beam", 1),
            scale=of_the_task.pop("noise_scale", 0.5),
            seed=of_the_task.pop("seed", 1),
        )
        return cls(
            max_iter=getattr(args, "iter_decode_max_iter", 10),
            empty_penalty=getattr(args, "iter_decode_eos_penalty", 0.0),
            adaptive=not getattr(args, "iter_decode_force_max_iter", False),
            retain_history=getattr(args, "retain_iter_history", False),
            max_len_a=getattr(args, "max_len_a", 0.0),
            max_len_b=getattr(args, "max_len_b", 200),
            unk_penalty=getattr(args, "unkpen", 0.0),
            diversity=diversity,
            nbest=getattr(args, "nbest", 1),
            external_reranker=getattr(args, "iter_decode_with_external_reranker", False),
            length_penalty=getattr(args, "lenpen", 1.0),
            **of_the_task,
        )
