"""BART (Lewis et al., 2020), encoder and decoder."""

from dataclasses import dataclass

from fairseq.data import Dictionary
from torch import Tensor, nn

from ..errors import UserError
from ..nn.backbone import Backbone, EncoderBody
from ..nn.decoding import DecoderBlock, TiedOutput
from ..nn.embedding import TokenEmbedding, token_table
from ..nn.positions import Positions
from ..nn.transformer import Attention, TransformerBlock, TransformerStack
from .directory import Config, Weights
from .filling import Filling, chosen_rows
from .parts import ACTIVATIONS, Dropouts, check_heads, count_blocks, is_copy, post_norm_block

TABLE = "shared.weight"
TABLES = {"encoder": "encoder.embed_tokens.weight", "decoder": "decoder.embed_tokens.weight"}
OUTPUT = "lm_head.weight"
LOGITS_BIAS = "final_logits_bias"
# rows of the positions' table that stand for no position
OFFSET = 2
EPS = 1e-5
# the table again, under the names of its other uses; or one that nothing uses
LEFT = (r"(encoder|decoder)\.embed_tokens\.weight", r"lm_head\.weight", r"shared\.weight")


@dataclass
class BartSide:
    """The numbers of the encoder or of the decoder."""

    heads: int
    hidden: int
    layers: int


@dataclass
class BartPlan:
    """The numbers of a BART, enough to build it again.

    scaled: embeddings are multiplied by the root of the width. bias: whether every symbol has
    one in the output. shared: encoder and decoder have one table; tied: the output has the
    decoder's.
    """

    rows: int
    dim: int
    encoder: BartSide
    decoder: BartSide
    positions: int
    activation: str
    scaled: bool
    bias: bool
    shared: bool = True
    tied: bool = True

    def __post_init__(self) -> None:
        # from a checkpoint's description they come as plain mappings
        if isinstance(self.encoder, dict) and isinstance(self.decoder, dict):
            self.encoder, self.decoder = BartSide(**self.encoder), BartSide(**self.decoder)

    @classmethod
    def read(cls, config: Config, weights: Weights) -> "BartPlan":
        """What the configuration says, held against the tensors.

        Raises:
            UserError: they contradict each other.
        """
        sides = [
            BartSide(
                heads=config.count(f"{side}_attention_heads"),
                hidden=config.count(f"{side}_ffn_dim"),
                layers=config.count(f"{side}_layers"),
            )
            for side in ("encoder", "decoder")
        ]
        plan = cls(
            rows=config.count("vocab_size"),
            dim=config.count("d_model"),
            encoder=sides[0],
            decoder=sides[1],
            positions=config.count("max_position_embeddings"),
            activation=config.one_of("activation_function", "gelu", ACTIVATIONS),
            scaled=config.flag("scale_embedding", False),
            bias=LOGITS_BIAS in weights,
            shared=is_copy(weights, _table(weights, "encoder"), _table(weights, "decoder")),
            tied=is_copy(weights, OUTPUT, _table(weights, "decoder")),
        )
        if config.flag("normalize_before", False) or config.flag("add_final_layer_norm", False):
            raise UserError(f"{config.path}: a BART with norms before its layers; not known")
        for name in TABLES:
            weights.expect(_table(weights, name), plan.rows, plan.dim)
        for name, side in (("encoder", plan.encoder), ("decoder", plan.decoder)):
            check_heads(config, f"{name}_attention_heads", side.heads, "d_model", plan.dim)
            weights.expect(f"{name}.embed_positions.weight", plan.positions + OFFSET, plan.dim)
            weights.expect(f"{name}.layers.0.fc1.weight", side.hidden, plan.dim)
            count_blocks(config, weights, f"{name}.layers", side.layers, f"{name}_layers")
        return plan

    def block(self, side: BartSide, dropouts: Dropouts) -> TransformerBlock:
        """A block of one side, randomly initialised."""
        return post_norm_block(self.dim, side.heads, side.hidden, dropouts, self.activation, EPS)

    def decoder_block(self, dropouts: Dropouts) -> DecoderBlock:
        """A block that reads the source, randomly initialised."""
        cross = Attention(self.dim, self.decoder.heads, dropouts.attention, cross=True)
        return DecoderBlock(self.block(self.decoder, dropouts), cross, nn.LayerNorm(self.dim, EPS))

    def embedding(self, table: nn.Embedding, pad: int, dropouts: Dropouts) -> TokenEmbedding:
        """Tokens and places of one side, the latter randomly initialised."""
        return TokenEmbedding(
            table,
            Positions(self.positions, self.dim, pad, learned=True),
            scale=None if self.scaled else 1.0,
            norm=nn.LayerNorm(self.dim, EPS),
            dropout=dropouts.dropout,
        )


def _table(weights: Weights, side: str) -> str:
    """The name of the embeddings of encoder or decoder: their own, or the shared ones."""
    return TABLES[side] if TABLES[side] in weights else TABLE


def rename(name: str) -> str:
    """A tensor's name without the model's."""
    return name.removeprefix("model.")


def build(
    plan: BartPlan, source: Dictionary, target: Dictionary, dropouts: Dropouts, tie: bool
) -> Backbone:
    """A backbone of that shape, not trained; one table where the dictionaries are the same."""
    table = token_table(len(source), plan.dim, source.pad())
    written = table
    if source != target or not plan.shared:
        written = token_table(len(target), plan.dim, target.pad())
    output = written if plan.tied else token_table(len(target), plan.dim, target.pad())
    stack = TransformerStack(0, False, plan.dim)
    stack.blocks.extend(plan.block(plan.encoder, dropouts) for _ in range(plan.encoder.layers))
    return Backbone(
        source=plan.embedding(table, source.pad(), dropouts),
        encoder=EncoderBody(stack, None),
        target=plan.embedding(written, target.pad(), dropouts),
        blocks=[plan.decoder_block(dropouts) for _ in range(plan.decoder.layers)],
        norm=None,
        output=TiedOutput(output, bias=plan.bias),
        max_source=plan.positions,
        max_target=plan.positions,
    )


def fill(
    backbone: Backbone, plan: BartPlan, filling: Filling, source_rows: Tensor, target_rows: Tensor
) -> None:
    """Puts the checkpoint's tensors in."""
    assert isinstance(backbone.encoder, EncoderBody) and isinstance(backbone.output, TiedOutput)
    for side, embedding, rows in (
        ("encoder", backbone.source, source_rows),
        ("decoder", backbone.target, target_rows),
    ):
        filling.table(embedding.table, _table(filling.weights, side), rows)
        filling.norm(embedding.norm, f"{side}.layernorm_embedding")
        places = f"{side}.embed_positions.weight"
        filling.places(embedding.positions, filling.read(places)[OFFSET:], places)
    for number, block in enumerate(backbone.encoder.stack.blocks):
        _fill_block(block, filling, f"encoder.layers.{number}")
    for number, decoding in enumerate(backbone.blocks):
        assert isinstance(decoding, DecoderBlock)
        name = f"decoder.layers.{number}"
        _fill_block(decoding.block, filling, name)
        cross, other = decoding.cross_attention, f"{name}.encoder_attn"
        assert cross.query is not None
        filling.linear(cross.query, f"{other}.q_proj")
        filling.linear(cross.inputs, f"{other}.k_proj", f"{other}.v_proj")
        filling.linear(cross.output, f"{other}.out_proj")
        filling.norm(decoding.cross_norm, f"{name}.encoder_attn_layer_norm")
    if not plan.tied:
        filling.table(backbone.output.table, OUTPUT, target_rows)
    if plan.bias:
        bias = filling.read(LOGITS_BIAS).flatten()
        if len(bias) != plan.rows:
            raise UserError(
                f"{filling.weights.file}: {LOGITS_BIAS} is "
                f"{filling.weights.shape(LOGITS_BIAS)}, for {plan.rows} symbols"
            )
        filling.place(backbone.output.bias, chosen_rows(bias, target_rows), [LOGITS_BIAS])


def _fill_block(block: nn.Module, filling: Filling, name: str) -> None:
    assert isinstance(block, TransformerBlock)
    own = f"{name}.self_attn"
    filling.linear(block.self_attention.inputs, *(f"{own}.{part}_proj" for part in "qkv"))
    filling.linear(block.self_attention.output, f"{own}.out_proj")
    filling.norm(block.self_norm, f"{name}.self_attn_layer_norm")
    filling.linear(block.fc1, f"{name}.fc1")
    filling.linear(block.fc2, f"{name}.fc2")
    filling.norm(block.feed_norm, f"{name}.final_layer_norm")
