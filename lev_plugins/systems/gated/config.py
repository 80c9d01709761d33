"""Options of the model ``gated_transformer``, named as fairseq's Transformer names them."""

from dataclasses import dataclass
from typing import List, Optional

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from omegaconf import II

from ...errors import UserError
from ...nn.backbone import TransformerSize
from ...options import option
from .gates import chosen_gates

ACTIVATIONS = ChoiceEnum(["relu", "gelu", "silu"])
DIVERSITY = ChoiceEnum(["paper", "code", "pointer"])


@dataclass
class GatedTransformerConfig(FairseqDataclass):
    gates: str = option(
        "mask,copy,generate",
        (
            "the gates that are on, any of mask,copy,generate,skip in any "
            "order; none makes it the plain Transformer"
        ),
    )
    gate_variant: DIVERSITY = option(  # type: ignore[valid-type]
        "pointer",
        "what the decoder's gates do. pointer: copies from the source, and starts nearly as the "
        "model without gates. paper: Eq. 3-8 as printed, on hidden states; a trained model or "
        "backbone loses its output layer. code: as in the authors' programs, on logits, which it "
        "flattens to at most 0.58 of what they were",
    )
    backbone: Optional[str] = option(
        None,
        "local Hugging Face directory of BERT, BART or T5 to start from; sizes are then its own",
    )
    backbone_plan: Optional[str] = option(
        None,
        "kind and sizes of a BERT, BART or T5 with random weights, as JSON; the architectures "
        "named after them and --backbone set it, and checkpoints keep it",
    )
    tie_backbone: bool = option(
        False, "BERT: the decoder is the encoder, but for the cross-attention"
    )
    encoder_embed_dim: int = option(512, "width of the model")
    encoder_ffn_embed_dim: int = option(2048, "width of the feed-forward layers")
    encoder_layers: int = option(6, "number of encoder blocks")
    encoder_attention_heads: int = option(8, "attention heads")
    encoder_normalize_before: bool = option(False, "layer norm before each sub-layer (pre-norm)")
    encoder_learned_pos: bool = option(False, "learned instead of sinusoidal positions")
    decoder_layers: int = option(6, "number of decoder blocks")
    share_all_embeddings: bool = option(
        False, "one table for source, target and output (needs a joined dictionary)"
    )
    share_decoder_input_output_embed: bool = option(False, "one table for target and output")
    dropout: float = option(0.1, "dropout after sub-layers")
    attention_dropout: float = option(0.0, "dropout on attention weights")
    activation_dropout: float = option(0.0, "dropout inside the feed-forward layers")
    activation_fn: ACTIVATIONS = option("relu", "activation function")  # type: ignore[valid-type]
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


def transformer_size(cfg: GatedTransformerConfig) -> TransformerSize:
    """The numbers of a Transformer that is trained from scratch.

    Raises:
        UserError: heads that do not divide the width.
    """
    heads, width = cfg.encoder_attention_heads, cfg.encoder_embed_dim
    if heads < 1 or width % heads:
        raise UserError(
            f"--encoder-attention-heads {heads} does not divide --encoder-embed-dim {width}"
        )
    return TransformerSize(
        dim=width,
        heads=heads,
        hidden=cfg.encoder_ffn_embed_dim,
        encoder_layers=cfg.encoder_layers,
        decoder_layers=cfg.decoder_layers,
        pre_norm=cfg.encoder_normalize_before,
        dropout=cfg.dropout,
        attention_dropout=cfg.attention_dropout,
        activation_dropout=cfg.activation_dropout,
        activation=str(cfg.activation_fn),
        learned_positions=cfg.encoder_learned_pos,
        max_source=cfg.max_source_positions,
        max_target=cfg.max_target_positions,
    )


def gate_names(cfg: GatedTransformerConfig, mask: Optional[int]) -> List[str]:
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
