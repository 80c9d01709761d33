"""Options of the model ``levenshtein_editor``, named as fairseq names a Transformer's, and of the
task ``translation_edit``.
"""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum
from omegaconf import II

from ...errors import UserError
from ...nn.seq2seq.config import TwoSidedConfig
from ...options import OptionalFloat, option
from ...tasks.post_editing import PostEditingConfig

SOURCE_COPY = ChoiceEnum(["uniform", "none"])
HEADS = ("deletion", "placeholder", "token")
# which stack of blocks each head (in the order of HEADS) runs through
STACKS = {
    "all": ("token", "token", "token"),
    "plh-tok": ("deletion", "token", "token"),
    "tok-del": ("token", "placeholder", "token"),
    "plh-del": ("deletion", "deletion", "token"),
    "none": ("deletion", "placeholder", "token"),
}
WEIGHT_SHARING = ChoiceEnum(list(STACKS))
ROLL_IN_TOKENS = ChoiceEnum(["argmax", "sample", "random"])
KEPT_TOKENS = ChoiceEnum(["uniform", "incomplete"])
TOKEN_MASKING = ChoiceEnum(["none", "uniform"])


@dataclass
class LevenshteinEditorConfig(TwoSidedConfig):
    """Options of the model."""

    decoder_embed_dim: int = option(512, "width of the decoder; has to equal the encoder's")
    decoder_ffn_embed_dim: int = option(2048, "width of the decoder's feed-forward layers")
    decoder_attention_heads: int = option(8, "decoder attention heads")
    share_decoder_input_output_embed: bool = option(
        False, "the default here (paper, Eq. 5); accepted as fairseq users type it"
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
        "what a placeholder is read as: uniform, its embedding plus the state of the encoder at "
        "the same relative place of the source (Gu et al., 2018); none, its embedding alone",
    )
    deletion_trace: bool = option(
        False,
        "what was deleted stays readable, as deleted, for the heads that insert, until its slot is "
        "filled; for post-editing (not in the paper)",
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
    """Options of the task."""

    alpha: float = option(
        0.5,
        "share of deletion states that are the draft, in [0, 1]; the others are the model's own "
        "insertions (paper, Eq. 6)",
    )
    beta: float = option(
        0.5,
        "share of insertion states that are the draft after the expert's deletion, without a "
        "draft the empty sentence, in [0, 1]; the others are targets with tokens dropped at "
        "random (paper, Eq. 7)",
    )
    alpha_start: OptionalFloat = option(None, "alpha at the first update (see --roll-in-updates)")
    beta_start: OptionalFloat = option(None, "beta at the first update (see --roll-in-updates)")
    roll_in_updates: float = option(
        0,
        "updates over which alpha and beta move linearly from their start values: learn to "
        "generate first, then to edit drafts; below 1 the share of --lr-scheduler time_budget",
    )
    roll_in_tokens: ROLL_IN_TOKENS = option(  # type: ignore[valid-type]
        "argmax",
        "what stands for the model's own insertions when it learns to delete: argmax (Alg. 1), "
        "sample (Eq. 6), or random words by their frequency (the DAE of Table 2b)",
    )
    kept_tokens: KEPT_TOKENS = option(  # type: ignore[valid-type]
        "uniform",
        "how many of n tokens random dropping keeps: uniform, 0 to n alike; incomplete, 0 to n - "
        "1, as fairseq does",
    )
    token_masking: TOKEN_MASKING = option(  # type: ignore[valid-type]
        "none",
        "uniform: the token head learns to predict a uniform share of the tokens that stand as "
        "well, as a masked language model does: it gets more labels from a batch",
    )
    delete_threshold: OptionalFloat = option(
        None,
        "decoding: a token goes when its probability of deletion is above this; higher leaves "
        "more of a draft alone (default: 0.5, the argmax)",
    )
    delete_words: bool = option(
        False,
        "decoding: what stands between two spaces goes or stays as a whole, by the mean of its "
        "tokens' probabilities of deletion; nothing is cut inside a word",
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
            f"--early-exit {cfg.early_exit} does not fit --decoder-layers {layers}: each number "
            f"has to be between 1 and {layers}, and a third, for tokens, exactly {layers}"
        )
    return depths[0], depths[1], depths[2]
