"""Options of the model ``transformer_concat``, named as fairseq's Transformer names them."""

import dataclasses
from argparse import Namespace
from dataclasses import dataclass
from typing import Any, Dict, Optional

from fairseq import utils
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models.transformer import TransformerConfig
from omegaconf import II

from ...errors import UserError
from ...options import option

ACTIVATIONS = ChoiceEnum(utils.get_available_activation_fns())


@dataclass
class TransformerConcatConfig(FairseqDataclass):
    encoder_embed_path: Optional[str] = option(
        None, "file of pre-trained embeddings for source and draft"
    )
    encoder_embed_dim: int = option(512, "width of the encoder")
    encoder_ffn_embed_dim: int = option(2048, "width of the encoder's feed-forward layers")
    encoder_layers: int = option(6, "number of encoder blocks")
    encoder_attention_heads: int = option(8, "encoder attention heads")
    encoder_normalize_before: bool = option(
        False, "layer norm before each encoder sub-layer (pre-norm)"
    )
    encoder_learned_pos: bool = option(
        False, "learned instead of sinusoidal positions in the encoder"
    )
    encoder_layerdrop: float = option(0.0, "share of encoder blocks left out at random in training")
    decoder_embed_path: Optional[str] = option(
        None, "file of pre-trained embeddings for the target"
    )
    decoder_embed_dim: Optional[int] = option(None, "width of the decoder; default: the encoder's")
    decoder_ffn_embed_dim: Optional[int] = option(
        None, "width of the decoder's feed-forward layers; default: the encoder's"
    )
    decoder_layers: int = option(6, "number of decoder blocks")
    decoder_attention_heads: Optional[int] = option(
        None, "decoder attention heads; default: as many as the encoder"
    )
    decoder_normalize_before: bool = option(
        False, "layer norm before each decoder sub-layer (pre-norm)"
    )
    decoder_learned_pos: bool = option(
        False, "learned instead of sinusoidal positions in the decoder"
    )
    decoder_layerdrop: float = option(0.0, "share of decoder blocks left out at random in training")
    dropout: float = option(0.1, "dropout after sub-layers")
    attention_dropout: float = option(0.0, "dropout on attention weights")
    activation_dropout: float = option(0.0, "dropout inside the feed-forward layers")
    activation_fn: ACTIVATIONS = option("relu", "activation function")  # type: ignore[valid-type]
    share_all_embeddings: bool = option(False, "one table for source, draft, target and output")
    share_decoder_input_output_embed: bool = option(False, "one table for target and output")
    layernorm_embedding: bool = option(False, "layer norm after the embeddings")
    no_scale_embedding: bool = option(False, "token embeddings are not multiplied by sqrt(width)")
    checkpoint_activations: bool = option(
        False, "compute activations anew in the backward pass, which saves memory"
    )
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


def stock_config(cfg: TransformerConcatConfig) -> TransformerConfig:
    """The same options in the nested form from which fairseq builds a Transformer.

    Raises:
        UserError: options that contradict each other.
    """
    names = [one.name for one in dataclasses.fields(TransformerConcatConfig)]
    values: Dict[str, Any] = {name: getattr(cfg, name) for name in names if name != "_name"}
    for name in ("embed_dim", "ffn_embed_dim", "attention_heads"):
        if values[f"decoder_{name}"] is None:
            values[f"decoder_{name}"] = values[f"encoder_{name}"]
    _check(values)
    width = values["decoder_embed_dim"]
    values.update(
        activation_fn=str(cfg.activation_fn), decoder_input_dim=width, decoder_output_dim=width
    )
    return TransformerConfig.from_namespace(Namespace(**values))


def _check(values: Dict[str, Any]) -> None:
    for side in ("encoder", "decoder"):
        heads, width = values[f"{side}_attention_heads"], values[f"{side}_embed_dim"]
        if heads < 1 or width % heads:
            raise UserError(
                f"--{side}-attention-heads {heads} does not divide --{side}-embed-dim {width}"
            )
    if not values["share_all_embeddings"]:
        return
    for name in ("embed_dim", "embed_path"):
        encoder, decoder = values[f"encoder_{name}"], values[f"decoder_{name}"]
        if encoder != decoder and decoder is not None:
            flag = name.replace("_", "-")
            raise UserError(
                f"--share-all-embeddings: --encoder-{flag} {encoder} and --decoder-{flag} "
                f"{decoder} differ; give both the same, or leave --share-all-embeddings out"
            )
