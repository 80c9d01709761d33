"""Options that all Transformers here have, named as fairseq's Transformer names them."""

from argparse import Namespace
from dataclasses import dataclass
from typing import Any

from fairseq.data import Dictionary
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from omegaconf import II

from lev_runtime.errors import UserError, flag

from ...options import BELOW_ONE, COUNT, OptionalInt, option, set_defaults
from ..backbone import TransformerSize
from ..transformer import BlockSize

ACTIVATIONS = ChoiceEnum(["relu", "gelu", "silu"])


@dataclass
class Seq2SeqConfig(FairseqDataclass):
    """A Transformer whose encoder and decoder have one width; its defaults are the base size."""

    encoder_embed_dim: int = option(512, "width of the model", within=COUNT)
    encoder_ffn_embed_dim: int = option(2048, "width of the feed-forward layers", within=COUNT)
    encoder_layers: int = option(6, "number of encoder blocks", within=COUNT)
    encoder_attention_heads: int = option(8, "attention heads", within=COUNT)
    encoder_normalize_before: bool = option(False, "layer norm before each sub-layer (pre-norm)")
    encoder_learned_pos: bool = option(False, "learned positions instead of sinusoidal ones")
    decoder_layers: OptionalInt = option(6, "number of decoder blocks", within=COUNT)
    share_all_embeddings: bool = option(
        False, "share the embeddings of source, target and output (needs a joined dictionary)"
    )
    share_decoder_input_output_embed: bool = option(
        False, "share target embeddings and output layer"
    )
    dropout: float = option(0.1, "dropout after sub-layers", within=BELOW_ONE)
    attention_dropout: float = option(0.0, "dropout on attention weights", within=BELOW_ONE)
    activation_dropout: float = option(
        0.0, "dropout inside the feed-forward layers", within=BELOW_ONE
    )
    activation_fn: ACTIVATIONS = option("relu", "activation function")  # type: ignore[valid-type]
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


@dataclass
class RotaryConfig(FairseqDataclass):
    """Options of Transformers made of our own blocks."""

    rotary_positions: bool = option(
        False,
        "rotary position embeddings (Su et al., 2021): relative positions in "
        "self-attention, in addition to those added to the embeddings",
    )


@dataclass
class TwoSidedConfig(Seq2SeqConfig):
    """A Transformer whose decoder has options of its own."""

    decoder_embed_dim: OptionalInt = option(
        None, "width of the decoder (default: the encoder's)", within=COUNT
    )
    decoder_ffn_embed_dim: OptionalInt = option(
        None, "feed-forward width (default: the encoder's)", within=COUNT
    )
    decoder_layers: int = option(6, "number of decoder blocks", within=COUNT)
    decoder_attention_heads: OptionalInt = option(
        None, "heads (default: as many as the encoder)", within=COUNT
    )
    decoder_normalize_before: bool = option(False, "layer norm before each sub-layer (pre-norm)")
    decoder_learned_pos: bool = option(False, "learned instead of sinusoidal positions")


def set_sizes(
    args: Namespace, dim: int, hidden: int, layers: int, heads: int, **others: Any
) -> None:
    """Sets a named size of a :class:`Seq2SeqConfig`, where the command line left it open."""
    set_defaults(
        args,
        encoder_embed_dim=dim,
        encoder_ffn_embed_dim=hidden,
        encoder_layers=layers,
        encoder_attention_heads=heads,
        **others,
    )


def set_character_size(args: Namespace, **others: Any) -> None:
    """Sets two blocks, d = 256, 4 heads, pre-norm: enough for characters on two cores."""
    others = {"encoder_normalize_before": True, "dropout": 0.2, "attention_dropout": 0.1, **others}
    set_sizes(args, dim=256, hidden=1024, layers=2, heads=4, **others)


#: For :func:`set_both_sides`, of characters (trains on two cores), and of small data (tens of
#: thousands of sentences).
CHARACTERS: dict[str, Any] = {"dim": 128, "hidden": 512, "layers": 2, "heads": 4}
SMALL: dict[str, Any] = {"dim": 256, "hidden": 1024, "layers": 3, "heads": 4}


def set_both_sides(
    args: Namespace, dim: int, hidden: int, layers: int, heads: int, **others: Any
) -> None:
    """Sets a named size of a :class:`TwoSidedConfig`, pre-norm, for both sides."""
    others = {"encoder_normalize_before": True, "decoder_normalize_before": True, **others}
    set_sizes(args, dim, hidden, layers, heads, decoder_layers=layers, **others)
    for name in ("embed_dim", "ffn_embed_dim", "attention_heads"):
        size = getattr(args, f"encoder_{name}")
        set_defaults(args, **{f"decoder_{name}": size})


def head_width(cfg: Seq2SeqConfig | Namespace, side: str = "encoder") -> int:
    """Channels of a side's heads; raises :class:`UserError` unless they share its width evenly."""
    heads = getattr(cfg, f"{side}_attention_heads")
    width = getattr(cfg, f"{side}_embed_dim")
    if heads < 1 or width % heads:
        raise UserError(
            f"--{side}-attention-heads {heads} does not divide --{side}-embed-dim {width}"
        )
    return int(width // heads)


def rotary_width(cfg: Seq2SeqConfig | Namespace, side: str = "encoder") -> int | None:
    """Returns :func:`head_width` if positions are rotary, else None; refuses an odd one too."""
    if not getattr(cfg, "rotary_positions", False):  # older checkpoints do not have the option
        return None
    width = head_width(cfg, side)
    if width % 2:
        heads = getattr(cfg, f"{side}_attention_heads")
        raise UserError(
            f"--rotary-positions needs an even head width, not {width}: change "
            f"--{side}-attention-heads {heads}"
        )
    return width


#: Options that change the computation but no parameter's shape, so that a mismatch on resuming
#: would go unnoticed.
SHAPELESS_OPTIONS = ("rotary_positions", "copied_states", "early_exit", "source_copy",
          "activation_fn", "encoder_attention_heads", "decoder_attention_heads")  # fmt: skip


def check_resumed(cfg: RotaryConfig, stored: object, path: str) -> None:
    """A model's ``check_resumed``: raises :class:`UserError` where a training would resume from
    ``stored`` settings with others of :data:`SHAPELESS_OPTIONS`."""
    for name in SHAPELESS_OPTIONS:
        value = getattr(cfg, name, None)
        default = False if name == "rotary_positions" else value
        stored_value = getattr(stored, name, None)
        if stored_value is None:  # of an older version
            stored_value = default
        if value is not None and str(value) != str(stored_value):
            written = flag(name)
            written += "" if isinstance(stored_value, bool) else f" {stored_value}"
            way = f"with {written}" if stored_value else f"without {written}"
            raise UserError(f"{path}: was trained {way}; resume it so")


def check_shared(cfg: Seq2SeqConfig, source: Dictionary, target: Dictionary) -> None:
    """Raises :class:`UserError` where one table is asked for that cannot serve both."""
    if cfg.share_all_embeddings and source != target:
        raise UserError(
            "--share-all-embeddings needs one dictionary for both sides; "
            "preprocess with --joined-dictionary or leave the option out"
        )


def block_size(cfg: Seq2SeqConfig, side: str = "encoder") -> BlockSize:
    """Returns the sizes of a side's blocks; errors of :func:`head_width`."""
    head_width(cfg, side)
    dim = getattr(cfg, f"{side}_embed_dim")
    heads = getattr(cfg, f"{side}_attention_heads")
    hidden = getattr(cfg, f"{side}_ffn_embed_dim")
    pre_norm = getattr(cfg, f"{side}_normalize_before")
    return BlockSize(
        dim=dim,
        heads=heads,
        hidden=hidden,
        pre_norm=pre_norm,
        dropout=cfg.dropout,
        attention_dropout=cfg.attention_dropout,
        activation_dropout=cfg.activation_dropout,
        activation=str(cfg.activation_fn),
    )


def transformer_size(cfg: Seq2SeqConfig) -> TransformerSize:
    """Returns the sizes of a Transformer trained from scratch; errors of :func:`block_size`."""
    decoder_layers = cfg.decoder_layers
    if decoder_layers is None:
        decoder_layers = cfg.encoder_layers
    return TransformerSize(
        **vars(block_size(cfg)),
        encoder_layers=cfg.encoder_layers,
        decoder_layers=decoder_layers,
        learned_positions=cfg.encoder_learned_pos,
        max_source=cfg.max_source_positions,
        max_target=cfg.max_target_positions,
    )
