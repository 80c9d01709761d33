"""T5 1.0, T5 1.1 and mT5, encoder and decoder."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from fairseq.data import Dictionary

from ..nn.backbone import Backbone
from ..nn.t5 import FEED_FORWARD, Symbols, T5Size
from ..nn.t5 import t5 as random_t5
from .filling import Filling, Names, block_names

BIAS = "block.0.layer.0.SelfAttention.relative_attention_bias"
CROSS = {
    "cross_attention.query": ("EncDecAttention.q",),
    "cross_attention.inputs": ("EncDecAttention.k", "EncDecAttention.v"),
    "cross_attention.output": ("EncDecAttention.o",),
    "cross_norm": ("layer_norm",),
}


class T5Plan(T5Size):
    """A T5's numbers; of an encoder alone there are 0 decoder layers."""

    # a bias of distances between target and source, which no model reads
    left: ClassVar = (r"decoder\..*\.EncDecAttention\.relative_attention_bias\.weight",)

    @classmethod
    def read(cls, config: Any, filling: Filling) -> "T5Plan":
        """The numbers of a folder; dropout is left to others."""
        whole = any(name.startswith("decoder.block.") for name in filling.tensors)
        return cls(
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

    def names(self) -> Names:
        """Where the tensors are."""
        found: Names = {
            "source.table": ("shared",),
            "target.table": ("shared",),
            "output.table": ("lm_head",),
            "encoder.bias.table": (f"encoder.{BIAS}",),
            "bias.table": (f"decoder.{BIAS}",),
            "encoder.norm": ("encoder.final_layer_norm",),
            "norm": ("decoder.final_layer_norm",),
        }
        inner = ("wi_0", "wi_1") if FEED_FORWARD[self.feed_forward][1] else ("wi",)
        # in a decoder's block the attention to the source stands between the two
        for ours, side, feed in (
            ("encoder.blocks.#", "encoder", 1),
            ("blocks.#.block", "decoder", 2),
        ):
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

    def build(
        self, source: Dictionary, target: Dictionary, tie: bool, dropouts: Mapping[str, float]
    ) -> Backbone:
        """A T5 with random weights."""
        reading, writing = (Symbols(len(d), d.bos(), d.pad(), d.eos()) for d in (source, target))
        return random_t5(replace(self, **dropouts), reading, writing, source == target)
