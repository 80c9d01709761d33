"""Options of the model ``levenshtein_editor`` and of the task ``translation_edit``."""

import re
from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum
from omegaconf import II

from ...errors import UserError
from ...nn.seq2seq.config import RotaryConfig, TwoSidedConfig
from ...options import OptionalFloat, option
from ...tasks.post_editing import PostEditingConfig

HEADS = ("deletion", "placeholder", "token")
# which stack of blocks each head (in the order of HEADS) runs through
STACKS = {
    "all": ("token", "token", "token"),
    "plh-tok": ("deletion", "token", "token"),
    "tok-del": ("token", "placeholder", "token"),
    "plh-del": ("deletion", "deletion", "token"),
    "none": ("deletion", "placeholder", "token"),
}
SOURCE_COPY = ChoiceEnum(["uniform", "none"])
WEIGHT_SHARING = ChoiceEnum(list(STACKS))
ROLL_IN_TOKENS = ChoiceEnum(["argmax", "sample", "random"])
KEPT_TOKENS = ChoiceEnum(["uniform", "incomplete"])
TOKEN_MASKING = ChoiceEnum(["none", "uniform"])


@dataclass
class LevenshteinEditorConfig(RotaryConfig, TwoSidedConfig):
    decoder_embed_dim: int = option(512, "width of the decoder; has to equal the encoder's")
    decoder_ffn_embed_dim: int = option(2048, "width of the decoder's feed-forward layers")
    decoder_attention_heads: int = option(8, "decoder attention heads")
    separate_output_embed: bool = option(False, "an output table of its own for the token head")
    apply_bert_init: bool = option(False, "initialise the decoder's parameters from N(0, 0.02)")
    weight_sharing: WEIGHT_SHARING = option(  # type: ignore[valid-type]
        "all",
        "which policies share decoder blocks (Table 2a): all, plh-tok, tok-del, plh-del or none",
    )
    early_exit: str = option(
        "",
        "'m,n': decoder blocks before the deletion and the placeholder head (LevT(m-n), Fig. 4b); "
        "tokens always use all; default: all blocks for all",
    )
    source_copy: SOURCE_COPY = option(  # type: ignore[valid-type]
        "uniform",
        "what a placeholder is read as: its embedding, and with uniform the encoder's state at the "
        "same relative place of the source (Gu et al., 2018)",
    )
    deletion_trace: bool = option(
        False,
        "what was deleted stays readable for the heads that insert, until its slot is filled; for "
        "post-editing (not in the paper)",
    )
    source_pointer: bool = option(
        False,
        "the token head may point to tokens of the source, to write them (not in the paper); needs "
        "--share-all-embeddings",
    )
    max_insertions: int = option(
        255, "K_max: most tokens inserted at one slot in one iteration (paper, Eq. 4)"
    )


@dataclass
class TranslationEditConfig(PostEditingConfig):
    alpha: float = option(
        0.5, "share of deletion states that are the draft, else the model's insertions (Eq. 6)"
    )
    beta: float = option(
        0.5,
        "share of insertion states that are the draft after the expert's deletion (without a draft "
        "the empty sentence), else targets with tokens dropped at random (Eq. 7)",
    )
    alpha_start: OptionalFloat = option(None, "alpha at the first update (see --roll-in-updates)")
    beta_start: OptionalFloat = option(None, "beta at the first update (see --roll-in-updates)")
    roll_in_updates: float = option(
        0,
        "updates over which alpha and beta move linearly from their start values; below 1 the "
        "share of --lr-scheduler time_budget",
    )
    roll_in_tokens: ROLL_IN_TOKENS = option(  # type: ignore[valid-type]
        "argmax",
        "what stands for the model's own insertions when it learns to delete: argmax (Alg. 1), "
        "sample (Eq. 6), or random words by their frequency (the DAE of Table 2b)",
    )
    kept_tokens: KEPT_TOKENS = option(  # type: ignore[valid-type]
        "uniform",
        "how many of n tokens random dropping keeps: uniform, 0 to n; incomplete, 0 to n - 1 "
        "(fairseq)",
    )
    token_masking: TOKEN_MASKING = option(  # type: ignore[valid-type]
        "none",
        "uniform: the token head also learns to predict a uniform share of the tokens that stand",
    )
    delete_threshold: OptionalFloat = option(
        None,
        "decoding: a token goes when its probability of deletion is above this (default: 0.5)",
    )
    delete_words: bool = option(
        False,
        "decoding: what stands between two spaces goes or stays as a whole, by the mean of its "
        "tokens' probabilities of deletion",
    )
    stock_decoding: bool = option(
        False,
        "decode as fairseq's levenshtein_transformer does, token for token: one iteration more, "
        "unk refilled, whole iterations compared, its length limit",
    )
    noise_scale: float = option(
        0.5,
        "scale of the Gumbel noise by which the candidates of --iter-decode-with-beam differ; 1 "
        "samples from the policies",
    )
    markup: bool = option(
        False,
        "interactive: drafts have marks, [=stays=], [-goes-], [+term+]; \\[ is the bracket itself",
    )
    seed: int = II("common.seed")


def exit_depths(cfg: LevenshteinEditorConfig) -> tuple[int, int, int]:
    """Blocks before the deletion, placeholder and token heads; refuses what does not fit."""
    layers, text = cfg.decoder_layers, str(cfg.early_exit)
    found = re.fullmatch(r"(\d+),(\d+)(?:,(\d+))?", text or f"{layers},{layers}")
    exits = [int(one or layers) for one in found.groups()] if found else [0, 0, 0]
    deletion, placeholder, token = exits
    stacks = STACKS[str(cfg.weight_sharing)]
    shared = [depth for depth, stack in zip(exits, stacks) if stack == "token"]
    if min(deletion, placeholder) < 1 or max(shared) > layers or token != layers:
        raise UserError(
            f"--early-exit {text} does not fit --decoder-layers {layers}: give two numbers of "
            f"blocks, for deletion and placeholders, each between 1 and {layers}"
        )
    return deletion, placeholder, layers
