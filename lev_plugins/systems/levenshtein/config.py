"""Options of the model ``levenshtein_editor``, named as fairseq's Transformer names them."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum

from ...errors import UserError
from ...nn.seq2seq.config import TwoSidedConfig
from ...options import option

WEIGHT_SHARING = ChoiceEnum(["all", "plh-tok", "tok-del", "plh-del", "none"])
SOURCE_COPY = ChoiceEnum(["uniform", "none"])
FEED_FORWARD_INIT = ChoiceEnum(["torch", "xavier"])
HEADS = ("deletion", "placeholder", "token")
# which stack of blocks each head (in the order of HEADS) runs through
STACKS = {
    "all": ("token", "token", "token"),
    "plh-tok": ("deletion", "token", "token"),
    "tok-del": ("token", "placeholder", "token"),
    "plh-del": ("deletion", "deletion", "token"),
    "none": ("deletion", "placeholder", "token"),
}


@dataclass
class LevenshteinEditorConfig(TwoSidedConfig):
    decoder_embed_dim: int = option(512, "width of the decoder; has to equal the encoder's")
    decoder_ffn_embed_dim: int = option(2048, "width of the decoder's feed-forward layers")
    decoder_attention_heads: int = option(8, "decoder attention heads")
    share_decoder_input_output_embed: bool = option(
        False,
        (
            "the default here (paper, Eq. 5) unless --separate-output-embed is "
            "given; accepted as fairseq users type it"
        ),
    )
    separate_output_embed: bool = option(False, "an output table of its own for the token head")
    apply_bert_init: bool = option(False, "initialise the decoder's parameters from N(0, 0.02)")
    weight_sharing: WEIGHT_SHARING = option(  # type: ignore[valid-type]
        "all",
        "which policies share decoder blocks (paper, Table 2a): all; plh-tok (deletion apart); "
        "tok-del (placeholders apart); plh-del (tokens apart); none",
    )
    early_exit: str = option(
        "",
        "'m,n': decoder blocks before the deletion and the placeholder head (LevT(m-n) in paper, "
        "Fig. 4b); tokens always use all; default: all blocks for all",
    )
    source_copy: SOURCE_COPY = option(  # type: ignore[valid-type]
        "uniform",
        (
            "what a placeholder is read as: uniform, its embedding plus the "
            "state of the encoder at the same relative place of the source (Gu "
            "et al., 2018); none, its embedding alone, as checkpoints of 0.5.0 "
            "and of fairseq's model have it"
        ),
    )
    feed_forward_init: FEED_FORWARD_INIT = option(  # type: ignore[valid-type]
        "torch",
        "initialisation of the feed-forward layers: torch, that of torch's linear layers, as in "
        "fairseq's LevT; xavier, uniform, with biases of zero",
    )
    max_insertions: int = option(
        255, ("K_max: most tokens inserted at one slot in one iteration (paper, Eq. 4)")
    )


def exit_depths(cfg: LevenshteinEditorConfig) -> tuple[int, int, int]:
    """Blocks before the deletion, placeholder and token heads.

    Raises:
        UserError: not of the form m,n or m,n,L, or deeper than the decoder where a head shares
            its blocks; a stack of its own is as deep as its exit.
    """
    layers = cfg.decoder_layers
    if not cfg.early_exit:
        return layers, layers, layers
    try:
        depths = [int(part) for part in str(cfg.early_exit).split(",")]
    except ValueError:
        depths = []
    if len(depths) == 2:
        depths.append(layers)
    if len(depths) != 3 or min(depths) < 1:
        raise UserError(
            f"--early-exit {cfg.early_exit}: give two numbers of blocks, for deletion and "
            "placeholders, such as --early-exit 3,3"
        )
    shared = [d for d, stack in zip(depths, STACKS[str(cfg.weight_sharing)]) if stack == "token"]
    if max(shared) > layers or depths[2] != layers:
        raise UserError(
            f"--early-exit {cfg.early_exit} is deeper than the decoder: --decoder-layers is "
            f"{layers}; each number has to be between 1 and {layers}"
            + ("" if depths[2] == layers else f", and the third, for tokens, exactly {layers}")
        )
    return depths[0], depths[1], depths[2]
