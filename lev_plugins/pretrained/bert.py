"""BERT (Devlin et al., 2019): the encoder as it is, the decoder from the same weights.

A decoder that BERT never had reads the source through cross-attention, which is new, and sees
what was generated alone (gated-Trans, §4.1).
"""

import copy
from dataclasses import dataclass

from fairseq.data import Dictionary
from torch import Tensor, nn

from ..errors import UserError
from ..nn.backbone import Backbone, EncoderBody
from ..nn.cpu import Linear, dropout
from ..nn.decoding import DecoderBlock, TiedOutput
from ..nn.embedding import TokenEmbedding, token_table
from ..nn.packing import Layout, Packing
from ..nn.positions import Positions
from ..nn.transformer import Attention, TransformerBlock, TransformerStack, attention_mask
from .directory import Config, Weights
from .filling import Filling, chosen_rows
from .parts import ACTIVATIONS, Dropouts, check_heads, count_blocks, is_copy, post_norm_block

TABLE = "embeddings.word_embeddings.weight"
PLACES = "embeddings.position_embeddings.weight"
TYPES = "embeddings.token_type_embeddings.weight"
HEAD = "cls.predictions"
OUTPUT = f"{HEAD}.decoder.weight"
BLOCK = "encoder.layer"
# the sentence classifiers, a buffer, and what the head shares with the embeddings
LEFT = (
    r"embeddings\.(position_ids|token_type_ids)",
    r"pooler\.dense\.(weight|bias)",
    r"cls\.seq_relationship\.(weight|bias)",
    r"cls\.predictions\.(decoder\.(weight|bias)|bias)",
)


@dataclass
class BertPlan:
    """The numbers of a BERT, enough to build it again.

    head: whether it predicts tokens. tied: by its embeddings, not by a table of their own.
    """

    rows: int
    dim: int
    heads: int
    hidden: int
    layers: int
    positions: int
    activation: str
    eps: float
    head: bool
    tied: bool = True

    @classmethod
    def read(cls, config: Config, weights: Weights) -> "BertPlan":
        """What the configuration says, held against the tensors.

        Raises:
            UserError: they contradict each other, or it is no BERT that is known here.
        """
        config.one_of("position_embedding_type", "absolute", ["absolute"])
        if config.flag("is_decoder", False) or config.flag("add_cross_attention", False):
            raise UserError(f"{config.path}: a BERT that is a decoder; an encoder is wanted")
        plan = cls(
            rows=config.count("vocab_size"),
            dim=config.count("hidden_size"),
            heads=config.count("num_attention_heads"),
            hidden=config.count("intermediate_size"),
            layers=config.count("num_hidden_layers"),
            positions=config.count("max_position_embeddings"),
            activation=config.one_of("hidden_act", "gelu", ACTIVATIONS),
            eps=config.number("layer_norm_eps", 1e-12),
            head=f"{HEAD}.transform.dense.weight" in weights,
            tied=is_copy(weights, OUTPUT, TABLE),
        )
        check_heads(config, "num_attention_heads", plan.heads, "hidden_size", plan.dim)
        weights.expect(TABLE, plan.rows, plan.dim)
        weights.expect(PLACES, plan.positions, plan.dim)
        weights.expect(TYPES, config.count("type_vocab_size", 2), plan.dim)
        weights.expect(f"{BLOCK}.0.intermediate.dense.weight", plan.hidden, plan.dim)
        count_blocks(config, weights, BLOCK, plan.layers, "num_hidden_layers")
        return plan

    def block(self, dropouts: Dropouts) -> TransformerBlock:
        """One of its blocks, randomly initialised."""
        return post_norm_block(
            self.dim, self.heads, self.hidden, dropouts, self.activation, self.eps
        )


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


class BertEncoder(nn.Module):
    """BERT's encoder behind the vectors of its tokens; a row may hold several texts.

    Called as :class:`.T5Encoder` is.
    """

    def __init__(self, plan: BertPlan, dropouts: Dropouts) -> None:
        super().__init__()
        self.dropout = dropouts.dropout
        self.places = nn.Embedding(plan.positions, plan.dim)
        self.norm = nn.LayerNorm(plan.dim, eps=plan.eps)
        self.stack = TransformerStack(0, False, plan.dim)
        self.stack.blocks.extend(plan.block(dropouts) for _ in range(plan.layers))

    def forward(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """Vectors of tokens → states, B × S × C; what stands at padding is of no meaning.

        Args:
            x: B × S × C.
            real: B × S, bool, False at padding.
            mask: B × 1 × S × S, bool: who sees whom, where a row holds several texts; each
                position has to see itself. Places are counted afresh in each text, none of which
                may be longer than the plan's positions.
        """
        seen = attention_mask(real) if mask is None else mask
        mine = seen[:, 0].expand(-1, x.size(1), -1)
        # a token's place: how many before it it sees
        place = mine.tril(-1).sum(2).masked_fill(~real, 0)
        x = dropout(self.norm(x + self.places(place)), self.dropout, self.training)
        packing = Packing.maybe_pack(attention_mask(real))
        return self.stack(x, seen, layout=Layout(seen, packing))


def fill_encoder(table: nn.Embedding, encoder: BertEncoder, filling: Filling, rows: Tensor) -> None:
    """Puts a checkpoint's embeddings and blocks in; ``rows``: of the checkpoint, for each token."""
    filling.table(table, TABLE, rows)
    # with the type of the first segment: there is no other
    filling.place(encoder.places.weight, filling.read(PLACES) + filling.read(TYPES)[0], [PLACES])
    filling.norm(encoder.norm, "embeddings.LayerNorm")
    for number, block in enumerate(encoder.stack.blocks):
        _fill_block(block, filling, f"{BLOCK}.{number}")


def rename(name: str) -> str:
    """A tensor's name without the model's, and as it is spelt today."""
    name = name.removeprefix("bert.")
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
    return name.replace("LayerNorm.beta", "LayerNorm.bias")


def build(
    plan: BertPlan, source: Dictionary, target: Dictionary, dropouts: Dropouts, tie: bool
) -> Backbone:
    """A backbone of that shape, randomly initialised.

    Args:
        tie: encoder and decoder are the same modules, but for the cross-attention; and share the
            embeddings where the dictionaries are the same.
    """
    blocks = [plan.block(dropouts) for _ in range(plan.layers)]
    stack = TransformerStack(0, False, plan.dim)
    stack.blocks.extend(blocks)
    reading = _embedding(plan, source, dropouts)
    writing = reading
    if not tie or source != target:
        writing = _embedding(plan, target, dropouts)
        if tie:
            writing.positions, writing.norm = reading.positions, reading.norm
    decoder: list[nn.Module] = []
    new: list[nn.Module] = []  # what no BERT has
    for block in blocks if tie else copy.deepcopy(blocks):
        new.append(cross := Attention(plan.dim, plan.heads, dropouts.attention, cross=True))
        new.append(norm := nn.LayerNorm(plan.dim, eps=plan.eps))
        decoder.append(DecoderBlock(block, cross, norm))
    table = writing.table
    if plan.head and not plan.tied:
        table = token_table(len(target), plan.dim, target.pad())
    output = BertOutput(table, plan.activation, plan.eps) if plan.head else TiedOutput(table)
    return Backbone(
        source=reading,
        encoder=EncoderBody(stack, None),
        target=writing,
        blocks=decoder,
        norm=None,
        output=output,
        max_source=plan.positions,
        max_target=plan.positions,
        new=new,
    )


def _embedding(plan: BertPlan, dictionary: Dictionary, dropouts: Dropouts) -> TokenEmbedding:
    pad = dictionary.pad()
    return TokenEmbedding(
        token_table(len(dictionary), plan.dim, pad),
        Positions(plan.positions, plan.dim, pad, learned=True),
        scale=1.0,
        norm=nn.LayerNorm(plan.dim, eps=plan.eps),
        dropout=dropouts.dropout,
    )


def fill(
    backbone: Backbone, plan: BertPlan, filling: Filling, source_rows: Tensor, target_rows: Tensor
) -> None:
    """Puts the checkpoint's tensors in."""
    assert isinstance(backbone.encoder, EncoderBody)
    writing = [block.block for block in backbone.blocks if isinstance(block, DecoderBlock)]
    for blocks in (backbone.encoder.stack.blocks, writing):
        for number, block in enumerate(blocks):
            _fill_block(block, filling, f"{BLOCK}.{number}")
    for embedding, rows in ((backbone.source, source_rows), (backbone.target, target_rows)):
        filling.table(embedding.table, TABLE, rows)
        # with the type of the first segment: there is no other
        filling.places(embedding.positions, filling.read(PLACES) + filling.read(TYPES)[0], PLACES)
        filling.norm(embedding.norm, "embeddings.LayerNorm")
    output = backbone.output
    if isinstance(output, BertOutput):
        filling.linear(output.transform, f"{HEAD}.transform.dense")
        filling.norm(output.norm, f"{HEAD}.transform.LayerNorm")
        if not plan.tied:
            filling.table(output.logits.table, OUTPUT, target_rows)
        # where both are there and differ, the layer's own is the one that is added
        name = f"{HEAD}.decoder.bias"
        name = name if name in filling.weights else f"{HEAD}.bias"
        filling.place(output.logits.bias, chosen_rows(filling.read(name), target_rows), [name])


def _fill_block(block: nn.Module, filling: Filling, name: str) -> None:
    assert isinstance(block, TransformerBlock)
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    filling.linear(block.self_attention.inputs, *parts)
    filling.linear(block.self_attention.output, f"{name}.attention.output.dense")
    filling.norm(block.self_norm, f"{name}.attention.output.LayerNorm")
    filling.linear(block.fc1, f"{name}.intermediate.dense")
    filling.linear(block.fc2, f"{name}.output.dense")
    filling.norm(block.feed_norm, f"{name}.output.LayerNorm")
