"""The options of model and task ``enct5``; names follow fairseq's transformer where it has them."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from omegaconf import II

from ...options import OptionalStr, option
from .problem_types import KINDS

INITS = ChoiceEnum(["scratch", "t5"])


@dataclass
class EncT5Config(FairseqDataclass):
    t5_dir: OptionalStr = option(
        None,
        "local Hugging Face directory of a T5 or mT5 whose encoder to start from, with a decoder "
        "or without; its sizes win over those of --arch and of other options",
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
    dropout: float = option(0.1, "dropout, wherever T5 has one")
    backbone_plan: str = option(
        "",
        "kind and sizes of a T5 or BERT, one line of JSON; --t5-dir and --bert-dir set it, and "
        "checkpoints keep it",
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
