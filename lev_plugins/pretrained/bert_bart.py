"""BERT (Devlin et al., 2019) and BART (Lewis et al., 2020): their sizes, and where each tensor is.

BERT has no decoder. One starts from the same weights, with a cross-attention that is new, and sees
what was generated alone (gated-Trans, §4.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fairseq.data import Dictionary
from torch import Tensor, nn

from lev_runtime.errors import UserError

from ..nn.backbone import Backbone, TransformerSize, transformer
from ..nn.decoder_block import TiedOutput
from ..nn.embedding import token_table
from ..nn.kernels import Linear
from ..nn.transformer import ACTIVATIONS
from .directory import Directory, Sizes
from .weights import Layers, WeightLoader

DROPOUT_NAMES = ("dropout", "attention_dropout", "activation_dropout")
BERT_SIZES: Sizes = {
    "dim": ("hidden_size", 768),
    "heads": ("num_attention_heads", 12),
    "hidden": ("intermediate_size", 3072),
    "layers": ("num_hidden_layers", 12),
    "positions": ("max_position_embeddings", 512),
    "activation": ("hidden_act", "gelu"),
    "eps": ("layer_norm_eps", 1e-12),
}
BART_SIZES: Sizes = {
    "dim": ("d_model", 1024),
    "heads": ("encoder_attention_heads", 16),
    "hidden": ("encoder_ffn_dim", 4096),
    "layers": ("encoder_layers", 12),
    "decoder_layers": ("decoder_layers", 12),
    "positions": ("max_position_embeddings", 1024),
    "activation": ("activation_function", "gelu"),
    "scaled": ("scale_embedding", False),
}
BERT_WORDS = "embeddings.word_embeddings.weight"
BERT_TYPES = "embeddings.token_type_embeddings.weight"
BERT_NORM = "embeddings.LayerNorm"
BERT_HEAD = "cls.predictions"
BERT_LAYERS: Layers = {
    "self_attention.inputs": (
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
    ),
    "self_attention.output": ("attention.output.dense",),
    "self_norm": ("attention.output.LayerNorm",),
    "fc1": ("intermediate.dense",),
    "fc2": ("output.dense",),
    "feed_norm": ("output.LayerNorm",),
}
BART_WORDS, BART_OUTPUT, BART_OUTPUT_BIAS = "shared.weight", "lm_head.weight", "final_logits_bias"
#: rows of BART's table of positions that stand for none
BART_POSITION_OFFSET = 2
BART_LAYERS: Layers = {
    "self_attention.inputs": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention.output": ("self_attn.out_proj",),
    "self_norm": ("self_attn_layer_norm",),
    "fc1": ("fc1",),
    "fc2": ("fc2",),
    "feed_norm": ("final_layer_norm",),
}
BART_CROSS_LAYERS: Layers = {
    "cross_attention.query": ("encoder_attn.q_proj",),
    "cross_attention.inputs": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross_attention.output": ("encoder_attn.out_proj",),
    "cross_norm": ("encoder_attn_layer_norm",),
}


@dataclass
class BertBartConfig:
    """The sizes of a BERT or BART, enough to build it again.

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
    has_decoder: ClassVar = True
    #: beginnings of the names of tensors that are of no use
    ignored_tensors: ClassVar[tuple[str, ...]] = ()

    def size(self, **dropouts: float) -> TransformerSize:
        """Returns the sizes of blocks and embeddings."""
        rates = dict.fromkeys(DROPOUT_NAMES, 0.0) | dropouts
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
            **rates,
        )

    def check(self, path: str) -> None:
        """Raises :class:`UserError` for sizes of a folder that cannot be."""
        if self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise UserError(f"{path}: unknown activation {self.activation!r:.80}; known: {known}")
        if self.dim % self.heads:
            raise UserError(f"{path}: {self.heads} heads do not divide a width of {self.dim}")

    def build(
        self, source: Dictionary, target: Dictionary, tie: bool, dropouts: Mapping[str, Any]
    ) -> Backbone:
        """Builds a backbone with random weights.

        ``tie``: encoder and decoder are the same modules, but for the cross-attention. They share
        their embeddings where the dictionaries are the same, BERT's if tied.
        """
        backbone = transformer(self.size(**dropouts), len(source), len(target), source.pad())
        if (self.has_decoder or tie) and source == target:
            backbone.target.table = backbone.source.table
        for embedding in (backbone.source, backbone.target):
            embedding.norm = nn.LayerNorm(self.dim, eps=self.eps)
            embedding.scale = self.dim**0.5 if self.scaled else 1.0
        table = backbone.target.table
        if not self.tied:
            table = token_table(len(target), self.dim, target.pad())
        if self.head:
            backbone.output = BertOutput(table, self.activation, self.eps)
        else:
            backbone.output = TiedOutput(table, bias=self.bias)
        if tie:
            backbone.target.positions = backbone.source.positions
            backbone.target.norm = backbone.source.norm
        for encoder_block, decoder_block in zip(backbone.encoder.stack.blocks, backbone.blocks):
            if tie:
                decoder_block.block = encoder_block
            if not self.has_decoder:
                backbone.new += [decoder_block.cross_attention, decoder_block.cross_norm]
        return backbone


class BertOutput(nn.Module):
    """BERT's head: features to logits of tokens; ``table``: V × C."""

    def __init__(self, table: nn.Embedding, activation: str, eps: float) -> None:
        super().__init__()
        dim = table.embedding_dim
        self.transform = Linear(dim, dim)
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.activation = ACTIVATIONS[activation]
        self.logits = TiedOutput(table, bias=True)

    def forward(self, features: Tensor) -> Tensor:
        """Maps B × T × C → B × T × V."""
        transformed = self.norm(self.activation(self.transform(features)))
        return self.logits(transformed)


class BertConfig(BertBartConfig):
    """A BERT."""

    has_decoder = False
    # the sentence classifiers, a buffer, and a bias that stands twice
    ignored_tensors = (
        "embeddings.position_ids",
        "embeddings.token_type_ids",
        "pooler.dense.",
        "cls.seq_relationship.",
        f"{BERT_HEAD}.bias",
        f"{BERT_HEAD}.decoder.bias",
    )

    @classmethod
    def read(cls, directory: Directory, loader: WeightLoader) -> "BertConfig":
        """Returns the sizes of a folder."""
        head = f"{BERT_HEAD}.transform.dense.weight" in loader.tensors
        tied = loader.is_copy(f"{BERT_HEAD}.decoder.weight", BERT_WORDS)
        return cls(**directory.sizes(BERT_SIZES), head=head, tied=tied)

    def load(self, loader: WeightLoader, backbone: Backbone, rows: tuple[Tensor, Tensor]) -> None:
        """Fills a backbone; ``rows``: of the source's and the target's symbols."""
        positions, name = self.positions_table(loader)
        for embedding, own_rows in zip((backbone.source, backbone.target), rows):
            loader.copy_rows(embedding.table.weight, BERT_WORDS, own_rows)
            loader.copy_positions(embedding.positions, positions, name)
            loader.copy_layer(embedding.norm, BERT_NORM)
        pairs = zip(backbone.encoder.stack.blocks, backbone.blocks)
        for number, (encoder_block, decoder_block) in enumerate(pairs):
            for block in (encoder_block, decoder_block.block):
                loader.copy_layers(block, f"encoder.layer.{number}", BERT_LAYERS)
        output = backbone.output
        if self.head:
            loader.copy_layer(output.transform, f"{BERT_HEAD}.transform.dense")
            loader.copy_layer(output.norm, f"{BERT_HEAD}.transform.LayerNorm")
            output = output.logits
            # where both are there and differ, the layer's own is the one that is added
            bias = f"{BERT_HEAD}.decoder.bias"
            if bias not in loader.tensors:
                bias = f"{BERT_HEAD}.bias"
            loader.copy_rows(output.bias, bias, rows[1])
        if not self.tied:
            loader.copy_rows(output.table.weight, f"{BERT_HEAD}.decoder.weight", rows[1])

    @staticmethod
    def positions_table(loader: WeightLoader) -> tuple[Tensor, str]:
        """Positions with the type of the first segment, as there is no other; and their name."""
        name = "embeddings.position_embeddings.weight"
        positions = loader.read(name)
        first_type = loader.read(BERT_TYPES)[0]
        loader.check_shape(first_type, positions.shape[1:], BERT_TYPES)
        return positions + first_type, name


class BartConfig(BertBartConfig):
    """A BART."""

    @classmethod
    def read(cls, directory: Directory, loader: WeightLoader) -> "BartConfig":
        """Returns the sizes of a folder."""
        bias = BART_OUTPUT_BIAS in loader.tensors
        tied = loader.is_copy(BART_OUTPUT, BART_WORDS)
        return cls(**directory.sizes(BART_SIZES), bias=bias, tied=tied)

    def load(self, loader: WeightLoader, backbone: Backbone, rows: tuple[Tensor, Tensor]) -> None:
        """Fills a backbone; ``rows``: of the source's and the target's symbols."""
        sides = zip(("encoder", "decoder"), (backbone.source, backbone.target), rows)
        for side, embedding, own_rows in sides:
            loader.copy_rows(embedding.table.weight, BART_WORDS, own_rows)
            name = f"{side}.embed_positions.weight"
            positions = loader.read(name)[BART_POSITION_OFFSET:]
            loader.copy_positions(embedding.positions, positions, name)
            loader.copy_layer(embedding.norm, f"{side}.layernorm_embedding")
        for number, block in enumerate(backbone.encoder.stack.blocks):
            loader.copy_layers(block, f"encoder.layers.{number}", BART_LAYERS)
        for number, block in enumerate(backbone.blocks):
            prefix = f"decoder.layers.{number}"
            loader.copy_layers(block.block, prefix, BART_LAYERS)
            loader.copy_layers(block, prefix, BART_CROSS_LAYERS)
        if self.bias:
            loader.copy_rows(backbone.output.bias, BART_OUTPUT_BIAS, rows[1])
        if not self.tied:
            loader.copy_rows(backbone.output.table.weight, BART_OUTPUT, rows[1])
