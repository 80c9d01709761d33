"""T5 1.0, T5 1.1 and mT5, encoder and decoder."""

from dataclasses import dataclass, fields

from fairseq.data import Dictionary
from torch import Tensor, nn

from ..errors import UserError
from ..nn.backbone import Backbone
from ..nn.decoding import DecoderBlock, TiedOutput
from ..nn.t5 import (
    FEED_FORWARD,
    LONGEST,
    RelativeBias,
    Symbols,
    T5Attention,
    T5Block,
    T5Encoder,
    T5Size,
)
from ..nn.t5 import t5 as random_t5
from .directory import Config, Weights
from .filling import Filling
from .parts import Dropouts, count_blocks, is_copy

TABLE = "shared.weight"
OUTPUT = "lm_head.weight"
ENCODER, DECODER = "encoder", "decoder"
BIAS = "SelfAttention.relative_attention_bias.weight"
COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
# copies of the table; a bias of distances between target and source, which no model reads
LEFT = (
    r"(encoder|decoder)\.embed_tokens\.weight",
    r"lm_head\.weight",
    r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
)


@dataclass
class T5Plan:
    """The numbers of a T5, enough to build it again, named as in :class:`..nn.t5.T5Size`."""

    rows: int
    dim: int
    heads: int
    head_dim: int
    hidden: int
    encoder_layers: int
    decoder_layers: int
    feed_forward: str
    buckets: int
    longest: int
    eps: float
    tied: bool
    scaled: bool

    @classmethod
    def read(cls, config: Config, weights: Weights, encoder_only: bool = False) -> "T5Plan":
        """What the configuration says, held against the tensors.

        Args:
            encoder_only: take a model without a decoder, too: it has 0 decoder layers.

        Raises:
            UserError: they contradict each other.
        """
        layers = config.count("num_layers")
        whole = any(name.startswith(f"{DECODER}.block.") for name in weights)
        if not whole and not encoder_only:
            raise UserError(
                f"{weights.file}: the encoder of a T5 alone, {DECODER}.block.0 is missing; give a "
                "whole T5 (EncT5's --t5-dir needs no more than this)"
            )
        tied = is_copy(weights, OUTPUT, TABLE)
        plan = cls(
            # the table has more rows than the configuration or the tokenizer may say
            rows=(*weights.shape(TABLE), 0)[0],
            dim=config.count("d_model"),
            heads=config.count("num_heads"),
            head_dim=config.count("d_kv"),
            hidden=config.count("d_ff"),
            encoder_layers=layers,
            decoder_layers=config.count("num_decoder_layers", layers) if whole else 0,
            feed_forward=config.one_of("feed_forward_proj", "relu", FEED_FORWARD),
            buckets=config.count("relative_attention_num_buckets", 32),
            longest=config.count("relative_attention_max_distance", 128, most=LONGEST),
            eps=config.number("layer_norm_epsilon", 1e-6),
            tied=tied,
            scaled=_is_scaled(config, tied),
        )
        if plan.buckets < 4 or plan.buckets % 2 or plan.longest <= plan.buckets // 2:
            raise UserError(
                f"{config.path}: relative_attention_num_buckets {plan.buckets} and "
                f"relative_attention_max_distance {plan.longest} do not go together"
            )
        plan._check(config, weights)
        return plan

    def _check(self, config: Config, weights: Weights) -> None:
        """That no number of the configuration is larger than the tensors."""
        inner = self.heads * self.head_dim
        expand = "wi_0" if FEED_FORWARD[self.feed_forward][1] else "wi"
        weights.expect(TABLE, self.rows, self.dim)
        for name in COPIES:
            if not is_copy(weights, name, TABLE):
                raise UserError(f"{weights.file}: {name} is another table than {TABLE}; not known")
        stacks = [(ENCODER, self.encoder_layers, 1, "num_layers")]
        if self.decoder_layers:
            stacks.append((DECODER, self.decoder_layers, 2, "num_decoder_layers"))
        for stack, layers, feed, setting in stacks:
            first = f"{stack}.block.0.layer"
            weights.expect(f"{first}.0.SelfAttention.q.weight", inner, self.dim)
            weights.expect(f"{first}.0.{BIAS}", self.buckets, self.heads)
            weights.expect(f"{first}.{feed}.DenseReluDense.{expand}.weight", self.hidden, self.dim)
            count_blocks(config, weights, f"{stack}.block", layers, setting)

    def size(self, dropouts: Dropouts) -> T5Size:
        """The numbers that the modules are made of."""
        shared = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "rows"}
        return T5Size(
            **shared,
            dropout=dropouts.dropout,
            attention_dropout=dropouts.attention,
            activation_dropout=dropouts.activation,
        )


def _is_scaled(config: Config, tied: bool) -> bool:
    """Whether the states are shrunk before the output: in 1.0, whose configuration says: tied.

    Of an mT5 that says so transformers shrinks them up to version 4. From 5 on it does not, and
    writes the same into the configuration of every mT5.
    """
    says_tied = config.flag("tie_word_embeddings", config.kind == "t5")
    if config.kind == "t5":
        return config.flag("scale_decoder_outputs", says_tied)
    version = config.text("transformers_version", "").partition(".")[0]
    return says_tied and tied and not (version.isdecimal() and int(version) >= 5)


def rename(name: str) -> str:
    """A tensor's name without the model's, which classifiers have."""
    return name.removeprefix("transformer.")


def build(
    plan: T5Plan, source: Dictionary, target: Dictionary, dropouts: Dropouts, tie: bool
) -> Backbone:
    """A backbone of that shape, randomly initialised."""
    reading, writing = (Symbols(len(d), d.bos(), d.pad(), d.eos()) for d in (source, target))
    return random_t5(plan.size(dropouts), reading, writing, one_table=source == target)


def fill(
    backbone: Backbone, plan: T5Plan, filling: Filling, source_rows: Tensor, target_rows: Tensor
) -> None:
    """Puts the checkpoint's tensors in."""
    assert isinstance(backbone.encoder, T5Encoder)
    filling.table(backbone.source.table, TABLE, source_rows)
    if backbone.target.table is not backbone.source.table:
        filling.table(backbone.target.table, TABLE, target_rows)
    fill_encoder(backbone.encoder, filling)
    fill_decoder(backbone.blocks, backbone.bias, backbone.norm, filling)
    assert isinstance(backbone.output, TiedOutput)
    if not plan.tied:
        filling.table(backbone.output.table, OUTPUT, target_rows)


def fill_encoder(encoder: T5Encoder, filling: Filling) -> None:
    """Puts a checkpoint's encoder in; there may be fewer blocks than it has."""
    for number, block in enumerate(encoder.blocks):
        assert isinstance(block, T5Block)
        _fill_block(block, filling, f"{ENCODER}.block.{number}.layer", 1)
    filling.put(encoder.bias.table.weight, f"{ENCODER}.block.0.layer.0.{BIAS}")
    filling.norm(encoder.norm, f"{ENCODER}.final_layer_norm")


def fill_decoder(
    blocks: list[nn.Module], bias: nn.Module | None, norm: nn.Module | None, filling: Filling
) -> None:
    """Puts a checkpoint's decoder in; there may be fewer blocks than it has."""
    for number, block in enumerate(blocks):
        assert isinstance(block, DecoderBlock)
        assert isinstance(block.cross_attention, T5Attention)
        name = f"{DECODER}.block.{number}.layer"
        _fill_block(block.block, filling, name, 2)
        cross = f"{name}.1.EncDecAttention"
        assert block.cross_attention.query is not None
        filling.linear(block.cross_attention.query, f"{cross}.q")
        filling.linear(block.cross_attention.inputs, f"{cross}.k", f"{cross}.v")
        filling.linear(block.cross_attention.output, f"{cross}.o")
        filling.norm(block.cross_norm, f"{name}.1.layer_norm")
    assert isinstance(bias, RelativeBias)
    filling.put(bias.table.weight, f"{DECODER}.block.0.layer.0.{BIAS}")
    filling.norm(norm, f"{DECODER}.final_layer_norm")


def _fill_block(block: nn.Module, filling: Filling, name: str, feed: int) -> None:
    """Self-attention and feed-forward layer; ``feed``: number of the latter's tensors."""
    assert isinstance(block, T5Block)
    own, dense = f"{name}.0.SelfAttention", f"{name}.{feed}.DenseReluDense"
    filling.linear(block.self_attention.inputs, *(f"{own}.{part}" for part in "qkv"))
    filling.linear(block.self_attention.output, f"{own}.o")
    filling.norm(block.self_norm, f"{name}.0.layer_norm")
    parts = ("wi_0", "wi_1") if block.gated else ("wi",)
    filling.linear(block.fc1, *(f"{dense}.{part}" for part in parts))
    filling.linear(block.fc2, f"{dense}.wo")
    filling.norm(block.feed_norm, f"{name}.{feed}.layer_norm")
