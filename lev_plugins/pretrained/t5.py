"""T5 and mT5 (Raffel et al., 2020; Xue et al., 2021): their sizes, and where each tensor is."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from fairseq.data import Dictionary
from torch import Tensor

from lev_runtime.errors import UserError

from ..nn.backbone import Backbone
from ..nn.t5 import FEED_FORWARD, RelativeBias, T5Encoder, T5Size
from ..nn.t5 import t5 as random_t5
from .directory import Directory, Sizes
from .weights import Layers, WeightLoader

WORDS, OUTPUT = "shared.weight", "lm_head.weight"
BIAS = "block.0.layer.0.SelfAttention.relative_attention_bias"
SIZES: Sizes = {
    "dim": ("d_model", 512),
    "heads": ("num_heads", 8),
    "head_dim": ("d_kv", 64),
    "hidden": ("d_ff", 2048),
    "encoder_layers": ("num_layers", 6),
    "feed_forward": ("feed_forward_proj", "relu"),
    "buckets": ("relative_attention_num_buckets", 32),
    "longest": ("relative_attention_max_distance", 128),
    "eps": ("layer_norm_epsilon", 1e-6),
}
MT5_SIZES: Sizes = {
    **SIZES,
    "heads": ("num_heads", 6),
    "hidden": ("d_ff", 1024),
    "encoder_layers": ("num_layers", 8),
    "feed_forward": ("feed_forward_proj", "gated-gelu"),
}
CROSS_LAYERS: Layers = {
    "cross_attention.query": ("EncDecAttention.q",),
    "cross_attention.inputs": ("EncDecAttention.k", "EncDecAttention.v"),
    "cross_attention.output": ("EncDecAttention.o",),
    "cross_norm": ("layer_norm",),
}


class T5Config(T5Size):
    """A T5's sizes; of an encoder alone there are 0 decoder layers."""

    # a bias of distances between target and source, which no model reads
    ignored_tensors: ClassVar = (
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
    )

    @classmethod
    def read(cls, directory: Directory, loader: WeightLoader) -> "T5Config":
        """Returns the sizes of a folder; dropout is left to others."""
        is_mt5 = directory.model_type == "mt5"
        sizes = directory.sizes(MT5_SIZES if is_mt5 else SIZES)
        sizes["decoder_layers"] = 0
        if any(name.startswith("decoder.block.") for name in loader.tensors):
            decoder_layers = directory.config.get("num_decoder_layers")
            sizes["decoder_layers"] = decoder_layers or sizes["encoder_layers"]
        # whether states shrink before the output layer: 1.0's do; files of 1.1 say that theirs do
        # not by tie_word_embeddings, those of today's transformers by a setting of its own
        ties = directory.config.get("tie_word_embeddings") is not False
        scaled = not is_mt5 and bool(directory.config.get("scale_decoder_outputs", ties))
        return cls(**sizes, tied=loader.is_copy(OUTPUT, WORDS), scaled=scaled)

    def check(self, path: str) -> None:
        """Raises :class:`UserError` for sizes of a folder that cannot be."""
        if self.feed_forward not in FEED_FORWARD:
            raise UserError(f"{path}: unknown feed_forward_proj {self.feed_forward!r:.80}")

    def build(
        self, source: Dictionary, target: Dictionary, tie: bool, dropouts: Mapping[str, Any]
    ) -> Backbone:
        """Returns a T5 with random weights."""
        return random_t5(replace(self, **dropouts), source, source if source == target else target)

    def load(self, loader: WeightLoader, backbone: Backbone, rows: tuple[Tensor, Tensor]) -> None:
        """Fills a backbone; ``rows``: of the source's and the target's symbols."""
        source_rows, target_rows = rows
        loader.copy_rows(backbone.source.table.weight, WORDS, source_rows)
        loader.copy_rows(backbone.target.table.weight, WORDS, target_rows)
        if not self.tied:
            loader.copy_rows(backbone.output.table.weight, OUTPUT, target_rows)
        self.load_encoder(loader, backbone.encoder)
        self.load_decoder(loader, backbone.blocks, backbone.bias, backbone.norm)

    def load_encoder(self, loader: WeightLoader, encoder: T5Encoder) -> None:
        """Fills an encoder, not its embeddings."""
        loader.copy_layer(encoder.bias.table, f"encoder.{BIAS}")
        for number, block in enumerate(encoder.blocks):
            loader.copy_layers(block, f"encoder.block.{number}.layer", self._layers(feed_forward=1))
        loader.copy_layer(encoder.norm, "encoder.final_layer_norm")

    def load_decoder(
        self, loader: WeightLoader, blocks: Iterable[Any], bias: RelativeBias, norm: Any
    ) -> None:
        """Fills the first blocks of a decoder, its bias and its last norm."""
        loader.copy_layer(bias.table, f"decoder.{BIAS}")
        for number, block in enumerate(blocks):
            prefix = f"decoder.block.{number}.layer"
            # the attention to the source stands between the two others
            loader.copy_layers(block.block, prefix, self._layers(feed_forward=2))
            loader.copy_layers(block, f"{prefix}.1", CROSS_LAYERS)
        loader.copy_layer(norm, "decoder.final_layer_norm")

    def _layers(self, feed_forward: int) -> Layers:
        """Returns the layers of a block whose feed-forward layer has this number."""
        _, is_gated = FEED_FORWARD[self.feed_forward]
        feed = f"{feed_forward}.DenseReluDense"
        first_layers: tuple[str, ...] = (f"{feed}.wi",)
        if is_gated:
            first_layers = (f"{feed}.wi_0", f"{feed}.wi_1")
        return {
            "self_attention.inputs": (
                "0.SelfAttention.q",
                "0.SelfAttention.k",
                "0.SelfAttention.v",
            ),
            "self_attention.output": ("0.SelfAttention.o",),
            "self_norm": ("0.layer_norm",),
            "fc1": first_layers,
            "fc2": (f"{feed}.wo",),
            "feed_norm": (f"{feed_forward}.layer_norm",),
        }
