"""The numbers of BERT (Devlin et al., 2019), BART (Lewis et al., 2020), T5 and mT5, and where the
tensors of each are.

BERT has no decoder. One starts from the same weights, with a cross-attention that is new, and sees
what was generated alone (gated-Trans, §4.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from fairseq.data import Dictionary
from torch import Tensor, nn

from ..nn.backbone import Backbone, EncoderBody, TransformerSize, transformer
from ..nn.cpu import Linear
from ..nn.decoding import DecoderBlock, TiedOutput
from ..nn.embedding import token_table
from ..nn.t5 import FEED_FORWARD, T5Size
from ..nn.t5 import t5 as random_t5
from ..nn.transformer import ACTIVATIONS, TransformerBlock
from .filling import Filling, Names, block_names

HEAD, WORDS, NORM = "cls.predictions", "embeddings.word_embeddings", "embeddings.LayerNorm"
LOGITS_BIAS = "final_logits_bias"
RATES = ("dropout", "attention_dropout", "activation_dropout")
# rows of BART's table of positions that stand for none
OFFSET = 2
BERT_LAYERS = {
    "self_attention.inputs": tuple(f"attention.self.{part}" for part in ("query", "key", "value")),
    "self_attention.output": ("attention.output.dense",),
    "self_norm": ("attention.output.LayerNorm",),
    "fc1": ("intermediate.dense",),
    "fc2": ("output.dense",),
    "feed_norm": ("output.LayerNorm",),
}
BART_LAYERS = {
    "self_attention.inputs": tuple(f"self_attn.{part}_proj" for part in "qkv"),
    "self_attention.output": ("self_attn.out_proj",),
    "self_norm": ("self_attn_layer_norm",),
    "fc1": ("fc1",),
    "fc2": ("fc2",),
    "feed_norm": ("final_layer_norm",),
}
BART_CROSS = {
    "cross_attention.query": ("encoder_attn.q_proj",),
    "cross_attention.inputs": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross_attention.output": ("encoder_attn.out_proj",),
    "cross_norm": ("encoder_attn_layer_norm",),
}
T5_BIAS = "block.0.layer.0.SelfAttention.relative_attention_bias"
T5_CROSS = {
    "cross_attention.query": ("EncDecAttention.q",),
    "cross_attention.inputs": ("EncDecAttention.k", "EncDecAttention.v"),
    "cross_attention.output": ("EncDecAttention.o",),
    "cross_norm": ("layer_norm",),
}


@dataclass
class PostNormPlan:
    """The numbers of a BERT or BART, enough to build it again.

    layers: of the encoder, and of the decoder unless ``decoder_layers`` says otherwise. scaled:
    embeddings are multiplied by the root of the width. head: BERT predicts tokens. bias: every
    symbol has one in BART's output. tied: the output has the decoder's table.
    """

    dim: int
    heads: int
    hidden: int
    layers: int
    positions: int
    activation: str
    eps: float = 1e-5
    decoder_layers: int | None = None
    scaled: bool = False
    head: bool = False
    bias: bool = False
    tied: bool = True
    #: whether it has a decoder of its own; patterns of tensors that are of no use
    writes: ClassVar = True
    left: ClassVar[tuple[str, ...]] = ()

    def size(self, **dropouts: float) -> TransformerSize:
        """The numbers of blocks and embeddings."""
        return TransformerSize(
            dim=self.dim,
            heads=self.heads,
            hidden=self.hidden,
            encoder_layers=self.layers,
            decoder_layers=self.decoder_layers or self.layers,
            pre_norm=False,
            activation=self.activation,
            eps=self.eps,
            learned_positions=True,
            max_source=self.positions,
            max_target=self.positions,
            **{**dict.fromkeys(RATES, 0.0), **dropouts},
        )

    def build(
        self, source: Dictionary, target: Dictionary, tie: bool, dropouts: Mapping[str, Any]
    ) -> Backbone:
        """With random weights; ``tie``: encoder and decoder are the same modules, but for the
        cross-attention. They share their embeddings where the dictionaries are the same, BERT's if
        tied.
        """
        made = transformer(self.size(**dropouts), len(source), len(target), source.pad())
        if (self.writes or tie) and source == target:
            made.target.table = made.source.table
        own = None if self.tied else token_table(len(target), self.dim, target.pad())
        made.output = TiedOutput(own or made.target.table, bias=self.bias)
        for embedding in (made.source, made.target):
            embedding.norm = nn.LayerNorm(self.dim, eps=self.eps)
            embedding.scale = self.dim**0.5 if self.scaled else 1.0
        if tie:
            made.target.positions, made.target.norm = made.source.positions, made.source.norm
        blocks = cast(EncoderBody, made.encoder).stack.blocks
        for reading, writing in zip(blocks, cast(list[DecoderBlock], made.blocks)):
            if tie:
                writing.block = cast(TransformerBlock, reading)
            made.new += [] if self.writes else [writing.cross_attention, writing.cross_norm]
        if self.head:
            made.output = BertOutput(own or made.target.table, self.activation, self.eps)
        return made


class BertOutput(nn.Module):
    """What BERT does with a state before it names the token; ``table``: V × C."""

    def __init__(self, table: nn.Embedding, activation: str, eps: float) -> None:
        super().__init__()
        dim = table.embedding_dim
        self.transform, self.norm = Linear(dim, dim), nn.LayerNorm(dim, eps=eps)
        self.activation = ACTIVATIONS[activation]
        self.logits = TiedOutput(table, bias=True)

    def forward(self, features: Tensor) -> Tensor:
        """B × T × C → B × T × V."""
        return self.logits(self.norm(self.activation(self.transform(features))))


class BertPlan(PostNormPlan):
    """A BERT."""

    writes = False
    # the sentence classifiers, a buffer, and a bias that stands twice
    left = (
        r"embeddings\.(position_ids|token_type_ids)",
        r"pooler\.dense\.(weight|bias)",
        r"cls\.seq_relationship\.(weight|bias)",
        r"cls\.predictions\.(decoder\.)?bias",
    )

    @classmethod
    def read(cls, config: Any, filling: Filling) -> "BertPlan":
        """The numbers of a folder."""
        return cls(
            dim=config.hidden_size,
            heads=config.num_attention_heads,
            hidden=config.intermediate_size,
            layers=config.num_hidden_layers,
            positions=config.max_position_embeddings,
            activation=config.hidden_act,
            eps=config.layer_norm_eps,
            head=f"{HEAD}.transform.dense.weight" in filling.tensors,
            tied=filling.is_copy(f"{HEAD}.decoder.weight", f"{WORDS}.weight"),
        )

    def names(self) -> Names:
        """Where the tensors are, those of EncT5's encoder as well."""
        places = ("source.positions", "target.positions", "encoder.places")
        return {
            **dict.fromkeys(("source.table", "target.table"), (WORDS,)),
            **dict.fromkeys(places, _bert_places),
            **dict.fromkeys(("source.norm", "target.norm", "encoder.norm"), (NORM,)),
            **block_names("encoder.stack.blocks.#", "encoder.layer.#", BERT_LAYERS),
            **block_names("blocks.#.block", "encoder.layer.#", BERT_LAYERS),
            "output.transform": (f"{HEAD}.transform.dense",),
            "output.norm": (f"{HEAD}.transform.LayerNorm",),
            "output.logits.table": (f"{HEAD}.decoder",),
            "output.logits": _bert_bias,
        }


def _bert_places(filling: Filling) -> Tensor:
    """With the type of the first segment: there is no other."""
    places = filling.read("embeddings.position_embeddings.weight")
    types = filling.read("embeddings.token_type_embeddings.weight")
    return places + types[0]


def _bert_bias(filling: Filling) -> Tensor:
    """Where both are there and differ, the layer's own is the one that is added."""
    own = f"{HEAD}.decoder.bias"
    return filling.read(own if own in filling.tensors else f"{HEAD}.bias")


class BartPlan(PostNormPlan):
    """A BART."""

    @classmethod
    def read(cls, config: Any, filling: Filling) -> "BartPlan":
        """The numbers of a folder."""
        return cls(
            dim=config.d_model,
            heads=config.encoder_attention_heads,
            hidden=config.encoder_ffn_dim,
            layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            positions=config.max_position_embeddings,
            activation=config.activation_function,
            scaled=config.scale_embedding,
            bias=LOGITS_BIAS in filling.tensors,
            tied=filling.is_copy("lm_head.weight", "shared.weight"),
        )

    def names(self) -> Names:
        """Where the tensors are."""
        return {
            **dict.fromkeys(("source.table", "target.table"), ("shared",)),
            "source.positions": lambda it: it.read("encoder.embed_positions.weight")[OFFSET:],
            "target.positions": lambda it: it.read("decoder.embed_positions.weight")[OFFSET:],
            "source.norm": ("encoder.layernorm_embedding",),
            "target.norm": ("decoder.layernorm_embedding",),
            **block_names("encoder.stack.blocks.#", "encoder.layers.#", BART_LAYERS),
            **block_names("blocks.#.block", "decoder.layers.#", BART_LAYERS),
            **block_names("blocks.#", "decoder.layers.#", BART_CROSS),
            "output.table": ("lm_head",),
            "output": lambda it: it.read(LOGITS_BIAS).flatten(),
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
            scaled=getattr(config, "scale_decoder_outputs", False),
        )

    def names(self) -> Names:
        """Where the tensors are."""
        found: Names = {
            "source.table": ("shared",),
            "target.table": ("shared",),
            "output.table": ("lm_head",),
            "encoder.bias.table": (f"encoder.{T5_BIAS}",),
            "bias.table": (f"decoder.{T5_BIAS}",),
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
        return {**found, **block_names("blocks.#", "decoder.block.#.layer.1", T5_CROSS)}

    def build(
        self, source: Dictionary, target: Dictionary, tie: bool, dropouts: Mapping[str, Any]
    ) -> Backbone:
        """A T5 with random weights."""
        same = source == target
        return random_t5(replace(self, **dropouts), source, source if same else target)
