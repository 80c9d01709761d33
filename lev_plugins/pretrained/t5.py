"""T5 1.0, T5 1.1 and mT5, encoder and decoder."""

from dataclasses import replace

from fairseq.data import Dictionary

from ..errors import UserError
from ..nn.backbone import Backbone
from ..nn.t5 import FEED_FORWARD, Symbols, T5Size
from ..nn.t5 import t5 as random_t5
from .directory import Directory
from .filling import Dropouts, Family, Filling, Names, block_names

BIAS = "block.0.layer.0.SelfAttention.relative_attention_bias"
CROSS = {
    "cross_attention.query": ("EncDecAttention.q",),
    "cross_attention.inputs": ("EncDecAttention.k", "EncDecAttention.v"),
    "cross_attention.output": ("EncDecAttention.o",),
    "cross_norm": ("layer_norm",),
}


def _read(directory: Directory, filling: Filling) -> T5Size:
    """Dropout is left to others; of an encoder alone there are 0 decoder layers."""
    config = directory.config
    whole = any(name.startswith("decoder.block.") for name in filling.tensors)
    copies = (f"{side}.embed_tokens.weight" for side in ("encoder", "decoder"))
    if not all(filling.is_copy(name, "shared.weight") for name in copies):
        raise UserError(f"{directory.path}: a T5 whose sides have tables of their own; not known")
    return T5Size(
        dim=config.d_model,
        heads=config.num_heads,
        head_dim=config.d_kv,
        hidden=config.d_ff,
        encoder_layers=config.num_layers,
        decoder_layers=config.num_decoder_layers if whole else 0,
        feed_forward=config.feed_forward_proj,
        buckets=config.relative_attention_num_buckets,
        longest=config.relative_attention_max_distance,
        eps=config.layer_norm_epsilon,
        tied=filling.is_copy("lm_head.weight", "shared.weight"),
        # 1.0 says so; no mT5 does
        scaled=getattr(config, "scale_decoder_outputs", False),
    )


def _names(size: T5Size) -> Names:
    found: Names = {
        "source.table": ("shared",),
        "target.table": ("shared",),
        "output.table": ("lm_head",),
        "encoder.bias.table": (f"encoder.{BIAS}",),
        "bias.table": (f"decoder.{BIAS}",),
        "encoder.norm": ("encoder.final_layer_norm",),
        "norm": ("decoder.final_layer_norm",),
    }
    inner = ("wi_0", "wi_1") if FEED_FORWARD[size.feed_forward][1] else ("wi",)
    # in a decoder's block the attention to the source stands between the two
    for ours, side, feed in (("encoder.blocks.#", "encoder", 1), ("blocks.#.block", "decoder", 2)):
        layers = {
            "self_attention.inputs": tuple(f"0.SelfAttention.{part}" for part in "qkv"),
            "self_attention.output": ("0.SelfAttention.o",),
            "self_norm": ("0.layer_norm",),
            "fc1": tuple(f"{feed}.DenseReluDense.{name}" for name in inner),
            "fc2": (f"{feed}.DenseReluDense.wo",),
            "feed_norm": (f"{feed}.layer_norm",),
        }
        found = {**found, **block_names(ours, f"{side}.block.#.layer", layers)}
    return {**found, **block_names("blocks.#", "decoder.block.#.layer.1", CROSS)}


def _build(
    size: T5Size, source: Dictionary, target: Dictionary, dropouts: Dropouts, tie: bool
) -> Backbone:
    reading, writing = (Symbols(len(d), d.bos(), d.pad(), d.eos()) for d in (source, target))
    return random_t5(replace(size, **vars(dropouts)), reading, writing, source == target)


T5 = Family(
    T5Size,
    _read,
    _names,
    _build,
    # copies of the table; a bias of distances between target and source, which no model reads
    left=(
        r"(encoder|decoder)\.embed_tokens\.weight",
        r"lm_head\.weight",
        r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
    ),
)
