"""The options of model and task ``enct5``; names follow fairseq's transformer where it has them."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from omegaconf import II

from ...options import BELOW_ONE, COUNT, NOT_NEGATIVE, OptionalStr, option
from .problem_types import KINDS

INITS = ChoiceEnum(["scratch", "t5"])


@dataclass
class EncT5Config(FairseqDataclass):
    t5_dir: OptionalStr = option(
        None,
        "local Hugging Face directory of a T5 or mT5 to initialise from, with or without a "
        "decoder; its sizes override --arch and other options",
    )
    bert_dir: OptionalStr = option(
        None,
        "local Hugging Face directory of a BERT whose encoder and subwords replace T5's; "
        "its sizes override likewise",
    )
    decoder_layers: int = option(1, "number of decoder blocks (paper: 1)", within=COUNT)
    decoder_init: INITS = option(  # type: ignore[valid-type]
        "scratch",
        "initialisation of the decoder's blocks, bias and last norm: random (scratch) or "
        "the first blocks of --t5-dir (t5); latents and head are always random",
    )
    encoder_layers: int = option(12, "number of encoder blocks", within=COUNT)
    encoder_embed_dim: int = option(768, "width of the model", within=COUNT)
    encoder_ffn_embed_dim: int = option(2048, "width of the feed-forward layers", within=COUNT)
    encoder_attention_heads: int = option(12, "attention heads", within=COUNT)
    attention_head_dim: int = option(
        64, "width of an attention head, independent of the model's width as in T5", within=COUNT
    )
    dropout: float = option(0.1, "dropout, wherever T5 has one", within=BELOW_ONE)
    backbone_plan: str = option(
        "",
        "kind and sizes of a T5 or BERT as JSON; set by --t5-dir and --bert-dir and kept "
        "in checkpoints",
    )


@dataclass
class EncT5TaskConfig(FairseqDataclass):
    data: OptionalStr = option(None, "folder made by lev-enct5-prepare")
    kind: OptionalStr = option(
        None,
        f"problem type: {', '.join(KINDS)} (default: that of the data; multilabel and "
        "multilabel_pooled use the same data)",
    )
    pack: bool = option(
        False, "pack several examples into a row in training, to save padding (paper, §4.1)"
    )
    pack_length: int = option(
        0,
        "maximum subwords of a row with --pack; short rows need less attention; a longer "
        "example gets its own row (default: --max-source-positions)",
        within=NOT_NEGATIVE,
    )
    max_source_positions: int = option(512, "maximum subwords in a row", within=COUNT)
    max_target_positions: int = option(
        1024, "maximum decoder positions (labels, words) in a row", within=COUNT
    )
    # options of fairseq's commands, repeated here because a task is given only its own
    train_subset: str = II("dataset.train_subset")
    best_checkpoint_metric: str = II("checkpoint.best_checkpoint_metric")
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")
