"""Options of the model ``gated_transformer``, named as fairseq's Transformer names them."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum

from lev_runtime.errors import UserError

from ...nn.seq2seq.config import Seq2SeqConfig
from ...options import OptionalStr, option
from .gates import COPY_BIAS, chosen_gates

GATE_VARIANT = ChoiceEnum(["pointer", "paper"])


@dataclass
class GatedTransformerConfig(Seq2SeqConfig):
    gates: str = option(
        "mask,copy,generate",
        "gates to use: any of mask,copy,generate,skip, or all; none is the plain Transformer",
    )
    gate_variant: GATE_VARIANT = option(  # type: ignore[valid-type]
        "pointer",
        "how the decoder's gates work. pointer: copy source tokens; starts close to the "
        "model without gates. paper: Eq. 3-8 as published, on hidden states; a trained "
        "model or backbone loses its output layer",
    )
    copy_bias: float = option(
        COPY_BIAS,
        "pointer: bias of the copy and skip gates at the start; 1 copies at first, which suits "
        "training from scratch on text that is mostly copied",
    )
    backbone: OptionalStr = option(
        None,
        "local Hugging Face directory of a BERT, BART or T5 to initialise from; it sets the sizes",
    )
    backbone_plan: OptionalStr = option(
        None,
        "kind and sizes of a BERT, BART or T5 with random weights, as JSON; set by "
        "--backbone and the archs named after them, and kept in checkpoints",
    )
    tie_backbone: bool = option(
        False, "BERT: share all parameters of encoder and decoder except the cross-attention"
    )


def gate_names(cfg: GatedTransformerConfig) -> list[str]:
    """Returns the gates that are on.

    Raises:
        UserError: an unknown name, or gates that cannot work alone.
    """
    names = chosen_gates(cfg.gates)
    alone = "generate" not in names and bool({"copy", "skip"}.intersection(names))
    if str(cfg.gate_variant) == "pointer" and alone:
        raise UserError(
            f"--gates {cfg.gates} --gate-variant pointer: without the generate gate only "
            "source tokens can be written; add generate"
        )
    return names
