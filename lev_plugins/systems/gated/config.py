"""Options of the model ``gated_transformer``, named as fairseq's Transformer names them."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum

from ...errors import UserError
from ...nn.seq2seq.config import Seq2SeqConfig
from ...options import OptionalStr, option
from .gates import chosen_gates

DIVERSITY = ChoiceEnum(["paper", "code", "pointer"])


@dataclass
class GatedTransformerConfig(Seq2SeqConfig):
    gates: str = option(
        "mask,copy,generate",
        (
            "the gates that are on, any of mask,copy,generate,skip in any "
            "order, or all; none makes it the plain Transformer"
        ),
    )
    gate_variant: DIVERSITY = option(  # type: ignore[valid-type]
        "pointer",
        "what the decoder's gates do. pointer: copies from the source, and starts nearly as the "
        "model without gates. paper: Eq. 3-8 as printed, on hidden states; a trained model or "
        "backbone loses its output layer. code: as in the authors' programs, on logits, which it "
        "flattens to at most 0.58 of what they were",
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


def gate_names(cfg: GatedTransformerConfig, mask: int | None) -> list[str]:
    """The gates that are on.

    Args:
        mask: index of the mask symbol in the target's dictionary, None without one.

    Raises:
        UserError: an unknown name, or a gate that cannot work alone.
    """
    names, variant = chosen_gates(cfg.gates), str(cfg.gate_variant)
    decoding = [name for name in names if name != "mask"]
    if variant == "pointer" and decoding and "generate" not in decoding:
        raise UserError(
            f"--gates {cfg.gates} --gate-variant pointer: without the generate gate nothing can "
            "be written that is not in the source; add generate"
        )
    if variant == "code" and "skip" in decoding and mask is None:
        raise UserError(
            f"--gates {cfg.gates} --gate-variant code: the skip gate needs a mask symbol "
            "([MASK], <mask> or <extra_id_0>) in the target's dictionary; add a line `<mask> 1` "
            "to it before preprocessing, or leave skip out"
        )
    return names
