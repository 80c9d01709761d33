"""How to decode by iterative refinement, as fairseq's generation options and the task say it."""

from dataclasses import dataclass
from typing import Any

from lev_runtime import options
from lev_runtime.errors import UserError

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
).split()
_FLAGS = {  # as a user spells them
    "max_iter": "--iter-decode-max-iter",
    "candidates": "--iter-decode-with-beam",
    "nbest": "--nbest",
    "noise_scale": "--noise-scale",
    "delete_threshold": "--delete-threshold",
}


@dataclass(frozen=True)
class RefinementOptions(options.RefinementOptions):
    """How to decode: the runtime's options, and those of fairseq alone.

    external_reranker: the last model, an autoregressive one, ranks the candidates, with
    length_penalty. stock: fairseq's own rules (:class:`.stock.StockDecoding`).
    """

    external_reranker: bool = False
    length_penalty: float = 1.0
    stock: bool = False

    def ranges(self) -> list[tuple[str, float, float]]:
        """See the base class; stock runs one iteration more than it is told."""
        (name, least, most), *others = super().ranges()
        return [(name, least - self.stock, most), *others]

    @staticmethod
    def spelt(name: str, value: float) -> str:
        """An option as fairseq's flag."""
        return f"{_FLAGS[name]} {value}"

    @classmethod
    def from_generation(cls, args: object, **of_the_task: Any) -> "RefinementOptions":
        """From fairseq's generation options (or any namespace with some of them), and the task's.

        Raises:
            UserError: an option that edit models do not have.
        """
        for name in _UNSUPPORTED:
            if getattr(args, name, None):
                terms = "give --markup and drafts of [+terms+]"
                instead = terms if name == "constraints" else "leave it out"
                flag = "--" + name.replace("_", "-")
                raise UserError(f"{flag} is not supported by edit models; {instead}")
        values = {own: getattr(args, name) for own, name in _NAMES.items() if hasattr(args, name)}
        adaptive = not getattr(args, "iter_decode_force_max_iter", False)
        return cls(adaptive=adaptive, **values, **of_the_task)
