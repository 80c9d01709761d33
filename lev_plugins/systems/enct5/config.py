"""The options of model and task ``enct5``; names follow fairseq's transformer where it has them."""

from dataclasses import dataclass, fields

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from omegaconf import II, DictConfig, OmegaConf

from ...errors import UserError
from ...nn.t5 import FEED_FORWARD, LONGEST, T5Size
from ...options import OptionalStr, option
from .problem_types import KINDS, ProblemType

INITS = ChoiceEnum(["scratch", "t5"])
FEEDS = ChoiceEnum(list(FEED_FORWARD))
#: option of the model → its least value; fractions stay below 1
LEAST = {
    "decoder_layers": 1,
    "encoder_layers": 1,
    "encoder_embed_dim": 1,
    "encoder_ffn_embed_dim": 1,
    "encoder_attention_heads": 1,
    "attention_head_dim": 1,
    "t5_rows": 0,
    "layer_norm_epsilon": 0,
    "dropout": 0,
}


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
        "the decoder's blocks, bias and last norm: randomly initialised (scratch), or the first "
        "ones of --t5-dir's (t5); latents and head are always random",
    )
    encoder_layers: int = option(12, "number of encoder blocks")
    encoder_embed_dim: int = option(768, "width of the model")
    encoder_ffn_embed_dim: int = option(2048, "width of the feed-forward layers")
    encoder_attention_heads: int = option(12, "attention heads")
    attention_head_dim: int = option(64, "width of an attention head, which T5 sets by itself")
    feed_forward: FEEDS = option(  # type: ignore[valid-type]
        "gated-gelu",
        "kind of the feed-forward layers; T5 1.0 has relu, 1.1 gated-gelu, which means gelu_new",
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


@dataclass
class EncT5TaskConfig(FairseqDataclass):
    data: OptionalStr = option(None, "folder made by lev-enct5-prepare")
    kind: OptionalStr = option(
        None,
        f"what is predicted, {', '.join(KINDS)}; default: what the data were prepared "
        "for. multilabel and multilabel_pooled take the same data",
    )
    pack: bool = option(
        False, "several examples in a row in training, to save padding (paper, §4.1)"
    )
    pack_length: int = option(
        0,
        "subwords to which --pack fills rows; short rows save attention; longer examples stand "
        "alone (default: --max-source-positions)",
    )
    max_source_positions: int = option(512, "most subwords in a row")
    max_target_positions: int = option(1024, "most decoder positions (labels, words) in a row")
    # what the commands are told; a task is given nothing but its own options
    train_subset: str = II("dataset.train_subset")
    best_checkpoint_metric: str = II("checkpoint.best_checkpoint_metric")
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")
    save_dir: str = II("checkpoint.save_dir")
    restore_file: str = II("checkpoint.restore_file")
    continue_once: OptionalStr = II("checkpoint.continue_once")
    finetune_from_model: OptionalStr = II("checkpoint.finetune_from_model")


def problem_type(name: str) -> ProblemType:
    """By the name that ``--kind`` has."""
    if name not in KINDS:
        raise UserError(f"--kind {name}: there are {', '.join(KINDS)}")
    return ProblemType(name)


def resolved(setting: str | None) -> str | None:
    """What a command was told; None outside of one, where there is nothing to look it up in."""
    return None if setting is None or str(setting).startswith("${") else str(setting)


def t5_size(cfg: EncT5Config) -> T5Size:
    """The numbers that the modules are made of.

    Raises:
        UserError: numbers that cannot be.
    """
    for name, low in LEAST.items():
        value = getattr(cfg, name)
        share = isinstance(value, float)
        if value < low or share and not value < 1:
            below = ", and less than 1" if share else ""
            raise UserError(f"--{name.replace('_', '-')} {value}: give {low} or more{below}")
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
