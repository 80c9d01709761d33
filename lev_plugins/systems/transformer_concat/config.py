"""Options of the model ``transformer_concat``, named as fairseq's Transformer names them."""

import dataclasses
from argparse import Namespace
from dataclasses import dataclass

from fairseq import utils
from fairseq.dataclass import ChoiceEnum
from fairseq.models.transformer import TransformerConfig

from ...nn.seq2seq.config import TwoSidedConfig, head_width
from ...nn.seq2seq.embedding_files import EmbeddingFilesConfig
from ...options import option

ACTIVATIONS = ChoiceEnum(utils.get_available_activation_fns())


@dataclass
class TransformerConcatConfig(EmbeddingFilesConfig, TwoSidedConfig):
    activation_fn: ACTIVATIONS = option("relu", "activation function")  # type: ignore[valid-type]
    layernorm_embedding: bool = option(False, "layer norm after the embeddings")
    no_scale_embedding: bool = option(False, "do not multiply token embeddings by sqrt(width)")


def stock_config(cfg: TransformerConcatConfig) -> TransformerConfig:
    """Converts the options to the nested form from which fairseq builds a Transformer."""
    fields = dataclasses.fields(TransformerConcatConfig)
    # older checkpoints lack the newest options
    values = {
        field.name: getattr(cfg, field.name, field.default)
        for field in fields
        if field.name != "_name"
    }
    for name in ("embed_dim", "ffn_embed_dim", "attention_heads"):
        if values[f"decoder_{name}"] is None:
            values[f"decoder_{name}"] = values[f"encoder_{name}"]
    for side in ("encoder", "decoder"):
        head_width(Namespace(**values), side)
    width = values["decoder_embed_dim"]
    values.update(
        activation_fn=str(cfg.activation_fn), decoder_input_dim=width, decoder_output_dim=width
    )
    return TransformerConfig.from_namespace(Namespace(**values))
