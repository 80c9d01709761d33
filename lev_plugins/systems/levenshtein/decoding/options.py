"""How to decode by iterative refinement, as fairseq's generation options and the task say it."""

import math
from dataclasses import dataclass
from typing import Any

from ....errors import UserError

_NAMES = {  # ours, of fairseq's generation options
    "max_iter": "iter_decode_max_iter",
    "empty_penalty": "iter_decode_eos_penalty",
    "retain_history": "retain_iter_history",
    "unk_penalty": "unkpen",
    "candidates": "iter_decode_with_beam",
    "external_reranker": "iter_decode_with_external_reranker",
    "length_penalty": "lenpen",
    **{name: name for name in ("max_len_a", "max_len_b", "nbest")},
}
_UNSUPPORTED = (
    "constraints decoding_format sampling retain_dropout lm_path score_reference print_alignment "
    "replace_unk no_repeat_ngram_size match_source_len unnormalized"
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
    sentence; noise_scale, seed: of the noise by which they differ. nbest: how many are given back
    at most. external_reranker: the last model, an autoregressive one, ranks the candidates, with
    length_penalty. stock: fairseq's own rules (:class:`.stock.StockDecoding`).
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
        fewest = 0 if self.stock else 1
        ranges = (
            ("--iter-decode-max-iter", self.max_iter, fewest, math.inf),
            ("--iter-decode-with-beam", self.candidates, 1, math.inf),
            ("--nbest", self.nbest, 1, math.inf),
            ("--noise-scale", self.noise_scale, 0, math.inf),
            ("--delete-threshold", self.delete_threshold, 0, 1),
        )
        for flag, value, least, most in ranges:
            if not least <= value <= most:
                raise UserError(f"{flag} {value} is outside [{least}, {most}]")
        if self.nbest > self.candidates:
            raise UserError(
                f"--nbest {self.nbest} is more than the number of candidates; give "
                f"--iter-decode-with-beam {self.nbest} or more"
            )

    @classmethod
    def from_generation(cls, args: object, **of_the_task: Any) -> "RefinementOptions":
        """From fairseq's generation options (or any namespace with some of them), and the task's.

        Raises:
            UserError: an option that edit models do not have.
        """
        for name in _UNSUPPORTED.split():
            if getattr(args, name, None):
                terms = "give --markup and drafts of [+terms+]"
                instead = terms if name == "constraints" else "leave it out"
                flag = "--" + name.replace("_", "-")
                raise UserError(f"{flag} is not supported by edit models; {instead}")
        values = {own: getattr(args, name) for own, name in _NAMES.items() if hasattr(args, name)}
        adaptive = not getattr(args, "iter_decode_force_max_iter", False)
        return cls(adaptive=adaptive, **values, **of_the_task)
