"""The options of ``enct5``; names and meanings follow fairseq's transformer where it has them."""

from dataclasses import dataclass, fields

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from omegaconf import DictConfig, OmegaConf

from ...errors import UserError
from ...nn.t5 import FEED_FORWARD, LONGEST, T5Size
from ...options import OptionalStr, option

INITS = ChoiceEnum(["scratch", "t5"])
FEEDS = ChoiceEnum(list(FEED_FORWARD))


@dataclass
class EncT5Config(FairseqDataclass):
    t5_dir: OptionalStr = option(
        None,
        "local Hugging Face directory of a T5, mT5 or ByT5 whose encoder to start from, with a "
        "decoder or without; its sizes win over those of --arch and of other options",
    )
    bert_dir: OptionalStr = option(
        None,
        "local Hugging Face directory of a BERT, whose encoder and subwords take the place of "
        "T5's; its sizes win likewise",
    )
    decoder_layers: int = option(1, "number of decoder blocks (paper: 1)")
    decoder_init: INITS = option(  # type: ignore[valid-type]
        "scratch",
        (
            "the decoder's blocks, bias and last norm: randomly initialised "
            "(scratch), or the first ones of --t5-dir's (t5); latents and head "
            "are always random"
        ),
    )
    encoder_layers: int = option(12, "number of encoder blocks")
    encoder_embed_dim: int = option(768, "width of the model")
    encoder_ffn_embed_dim: int = option(2048, "width of the feed-forward layers")
    encoder_attention_heads: int = option(12, "attention heads")
    attention_head_dim: int = option(64, "width of an attention head, which T5 sets by itself")
    feed_forward: FEEDS = option(  # type: ignore[valid-type]
        "gated-gelu",
        ("kind of the feed-forward layers; T5 1.0 has relu, 1.1 gated-gelu, which means gelu_new"),
    )
    relative_attention_buckets: int = option(32, "buckets of distances that attention tells apart")
    relative_attention_distance: int = option(128, "distances from this one on share a bucket")
    layer_norm_epsilon: float = option(1e-6, "added to the mean square that norms divide by")
    dropout: float = option(0.1, "dropout, wherever T5 has one")
    t5_rows: int = option(
        0,
        "rows of the embedding table where they are more than the vocabulary, as in published "
        "T5s; --t5-dir sets it, and checkpoints keep it",
    )
    bert_plan: str = option(
        "", "the sizes of a BERT, one line of JSON; --bert-dir sets it, and checkpoints keep it"
    )


def t5_size(cfg: EncT5Config) -> T5Size:
    """The numbers that the modules are made of.

    Raises:
        UserError: numbers that cannot be.
    """
    for name in (
        "decoder_layers",
        "encoder_layers",
        "encoder_embed_dim",
        "encoder_ffn_embed_dim",
        "encoder_attention_heads",
        "attention_head_dim",
    ):
        value = getattr(cfg, name)
        if value < 1:
            raise UserError(f"--{name.replace('_', '-')} {value}: give 1 or more")
    if cfg.t5_rows < 0:
        raise UserError(f"--t5-rows {cfg.t5_rows}: give 0 or more")
    if not 0 <= cfg.layer_norm_epsilon < 1:
        raise UserError(
            f"--layer-norm-epsilon {cfg.layer_norm_epsilon}: give 0 or more, and less than 1"
        )
    if not 0 <= cfg.dropout < 1:
        raise UserError(f"--dropout {cfg.dropout}: give 0 or more, and less than 1")
    buckets, longest = cfg.relative_attention_buckets, cfg.relative_attention_distance
    if buckets < 4 or buckets % 2 or not buckets // 2 < longest <= LONGEST:
        raise UserError(
            f"--relative-attention-buckets {buckets} --relative-attention-distance {longest}: "
            f"give an even number from 4 up, and a distance above half of it, {LONGEST} at most"
        )
    return T5Size(
        dim=cfg.encoder_embed_dim,
        heads=cfg.encoder_attention_heads,
        head_dim=cfg.attention_head_dim,
        hidden=cfg.encoder_ffn_embed_dim,
        encoder_layers=cfg.encoder_layers,
        decoder_layers=cfg.decoder_layers,
        feed_forward=str(cfg.feed_forward),
        buckets=buckets,
        longest=longest,
        eps=cfg.layer_norm_epsilon,
        dropout=cfg.dropout,
        attention_dropout=cfg.dropout,
        activation_dropout=cfg.dropout,
    )


def strip_pretrained(cfg: DictConfig) -> DictConfig:
    """The settings of a checkpoint, which has all weights: no folder is looked for.

    Options that came after its training get their defaults.
    """
    whole = {one.name: getattr(cfg, one.name, one.default) for one in fields(EncT5Config)}
    whole.update(t5_dir=None, bert_dir=None, decoder_init="scratch")
    whole["_name"] = getattr(cfg, "_name", None)
    return OmegaConf.create(whole)
