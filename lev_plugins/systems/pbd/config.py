"""Options of the model ``pbd_transformer``, named as fairseq's Transformer names them."""

from dataclasses import dataclass
from typing import Optional

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from omegaconf import II

from ...errors import UserError
from ...options import option

ACTIVATIONS = ChoiceEnum(["relu", "gelu", "silu"])
COPIED_STATES = ChoiceEnum(["input", "output"])


@dataclass
class PBDTransformerConfig(FairseqDataclass):
    encoder_embed_dim: int = option(512, "width of the model, encoder and decoder")
    encoder_ffn_embed_dim: int = option(2048, "width of the feed-forward layers")
    encoder_layers: int = option(6, "number of encoder blocks")
    encoder_attention_heads: int = option(8, "attention heads")
    encoder_normalize_before: bool = option(False, "layer norm before each sub-layer (pre-norm)")
    encoder_learned_pos: bool = option(False, "learned instead of sinusoidal positions")
    decoder_layers: Optional[int] = option(
        None,
        "number of decoder blocks; default: the encoder's, and with parameter sharing or future "
        "modelling nothing else",
    )
    no_future_modelling: bool = option(
        False, "a causal decoder: no copied source states (paper, Table 1, ablation)"
    )
    no_parameter_sharing: bool = option(
        False, "encoder and decoder of their own (paper, Table 1, ablation)"
    )
    no_segment_embedding: bool = option(
        False, "copied and generated tokens are not told apart (paper, §2.1)"
    )
    copied_states: COPIED_STATES = option(  # type: ignore[valid-type]
        "input", "which states of encoder block l decoder block l sees as its future"
    )
    share_all_embeddings: bool = option(
        False, "one table for source, target and output; parameter sharing implies it"
    )
    share_decoder_input_output_embed: bool = option(
        False, "one table for target and output; parameter sharing implies it"
    )
    dropout: float = option(0.1, "dropout after sub-layers")
    attention_dropout: float = option(0.0, "dropout on attention weights")
    activation_dropout: float = option(0.0, "dropout inside the feed-forward layers")
    activation_fn: ACTIVATIONS = option("relu", "activation function")  # type: ignore[valid-type]
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


def decoder_depth(cfg: PBDTransformerConfig) -> int:
    """Blocks of the decoder.

    Raises:
        UserError: another number than the encoder's where block l needs its partner.
    """
    encoder = cfg.encoder_layers
    decoder = encoder if cfg.decoder_layers is None else cfg.decoder_layers
    if min(encoder, decoder) < 1:
        raise UserError(
            f"--encoder-layers {encoder}, --decoder-layers {decoder}: at least 1 is needed"
        )
    needing = [
        f"--no-{name}"
        for name, off in (
            ("future-modelling", cfg.no_future_modelling),
            ("parameter-sharing", cfg.no_parameter_sharing),
        )
        if not off
    ]
    if needing and encoder != decoder:
        raise UserError(
            f"--encoder-layers {encoder} and --decoder-layers {decoder} differ, but decoder block "
            f"l works with encoder block l; leave --decoder-layers out, or give "
            f"{' and '.join(needing)}"
        )
    return decoder


def check(cfg: PBDTransformerConfig) -> None:
    """Options that contradict each other.

    Raises:
        UserError: naming them.
    """
    decoder_depth(cfg)
    heads, width = cfg.encoder_attention_heads, cfg.encoder_embed_dim
    if heads < 1 or width % heads:
        raise UserError(
            f"--encoder-attention-heads {heads} does not divide --encoder-embed-dim {width}"
        )
