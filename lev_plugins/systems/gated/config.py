"""Options of the model ``gated_transformer``, named as fairseq's Transformer names them."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum

from ...errors import UserError
from ...nn.seq2seq.config import Seq2SeqConfig
from ...options import OptionalStr, option
from .gates import chosen_gates

GATE_VARIANT = ChoiceEnum(["pointer", "paper"])


@dataclass
class GatedTransformerConfig(Seq2SeqConfig):
    gates: str = option(
        "mask,copy,generate",
        "the gates that are on, any of mask,copy,generate,skip in any order, or all; none makes "
        "it the plain Transformer",
    )
    gate_variant: GATE_VARIANT = option(  # type: ignore[valid-type]
        "pointer",
        "what the decoder's gates do. pointer: copies from the source, and starts nearly as the "
        "model without gates. paper: Eq. 3-8 as printed, on hidden states; a trained model or "
        "backbone loses its output layer",
    )
    backbone: OptionalStr = option(
        None,
        "local Hugging Face directory of BERT, BART or T5 to start from; sizes are then its own",
    )
    backbone_plan: OptionalStr = option(
        None,
        "kind and sizes of a BERT, BART or T5 with random weights, as JSON; the architectures "
        "named after them and --backbone set it, and checkpoints keep it",
    )
    tie_backbone: bool = option(
        False, "BERT: the decoder is the encoder, but for the cross-attention"
    )


def gate_names(cfg: GatedTransformerConfig) -> list[str]:
    """The gates that are on.

    Raises:
        UserError: an unknown name, or gates that cannot work alone.
    """
    names = chosen_gates(cfg.gates)
    alone = "generate" not in names and bool({"copy", "skip"}.intersection(names))
    if str(cfg.gate_variant) == "pointer" and alone:
        raise UserError(
            f"--gates {cfg.gates} --gate-variant pointer: without the generate gate nothing can "
            "be written that is not in the source; add generate"
        )
    return names
