"""Options of the model ``levenshtein_editor`` and of the task ``translation_edit``."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum
from omegaconf import II

from lev_runtime.errors import UserError
from lev_runtime.refine.policy import HEADS

from ...nn.seq2seq.config import RotaryConfig, TwoSidedConfig
from ...nn.seq2seq.embedding_files import EmbeddingFilesConfig
from ...options import BELOW_ONE, COUNT, NOT_NEGATIVE, SHARE, OptionalFloat, OptionalStr, option
from ...tasks.post_editing import PostEditingConfig

#: which heads run through the same blocks (paper, Table 2a)
SHARING: dict[str, set[str]] = {
    "all": set(HEADS),
    "plh-tok": {"placeholder", "token"},
    "tok-del": {"token", "deletion"},
    "plh-del": {"placeholder", "deletion"},
    "none": set(),
}
SOURCE_COPY = ChoiceEnum(["uniform", "none"])
WEIGHT_SHARING = ChoiceEnum(list(SHARING))
ROLL_IN_TOKENS = ChoiceEnum(["argmax", "sample", "random"])
KEPT_TOKENS = ChoiceEnum(["uniform", "incomplete"])
TOKEN_MASKING = ChoiceEnum(["none", "uniform"])


@dataclass
class LevenshteinEditorConfig(EmbeddingFilesConfig, RotaryConfig, TwoSidedConfig):
    decoder_embed_dim: int = option(
        512, "width of the decoder; must equal the encoder's", within=COUNT
    )
    decoder_ffn_embed_dim: int = option(
        2048, "width of the decoder's feed-forward layers", within=COUNT
    )
    decoder_attention_heads: int = option(8, "decoder attention heads", within=COUNT)
    separate_output_embed: bool = option(False, "separate output layer for the token head")
    apply_bert_init: bool = option(False, "initialise the decoder from N(0, 0.02)")
    weight_sharing: WEIGHT_SHARING = option(  # type: ignore[valid-type]
        "all",
        "which policies share decoder blocks (Table 2a): all, plh-tok, tok-del, plh-del or none",
    )
    early_exit: str = option(
        "",
        "'m,n': number of decoder blocks for the deletion and the placeholder head "
        "(LevT(m-n), Fig. 4b); the token head always uses all (default: all blocks for all "
        "heads)",
    )
    source_copy: SOURCE_COPY = option(  # type: ignore[valid-type]
        "uniform",
        "input of a placeholder: its embedding, with uniform plus the encoder state at the "
        "same relative position of the source (Gu et al., 2018)",
    )
    deletion_trace: bool = option(
        False,
        "let the insertion heads read deleted tokens until their slot is filled; for "
        "post-editing (not in the paper)",
    )
    source_pointer: bool = option(
        False,
        "let the token head copy source tokens (not in the paper); needs --share-all-embeddings",
    )
    max_insertions: int = option(
        255, "K_max: maximum tokens inserted at one slot per iteration (paper, Eq. 4)", within=COUNT
    )


@dataclass
class TranslationEditConfig(PostEditingConfig):
    alpha: float = option(
        0.5,
        "probability that a deletion state is the draft, otherwise the model's insertions (Eq. 6)",
        within=SHARE,
    )
    beta: float = option(
        0.5,
        "probability that an insertion state is the draft after the expert's deletion (the "
        "empty sentence without a draft), otherwise the target with random tokens dropped "
        "(Eq. 7)",
        within=SHARE,
    )
    alpha_start: OptionalFloat = option(
        None, "alpha at the first update (see --roll-in-updates)", within=SHARE
    )
    beta_start: OptionalFloat = option(
        None, "beta at the first update (see --roll-in-updates)", within=SHARE
    )
    roll_in_updates: float = option(
        0,
        "number of updates over which alpha and beta move linearly from their start "
        "values; below 1: share of the time of --lr-scheduler time_budget",
        within=NOT_NEGATIVE,
    )
    roll_in_tokens: ROLL_IN_TOKENS = option(  # type: ignore[valid-type]
        "argmax",
        "the model's insertions in deletion states: argmax (Alg. 1), sample (Eq. 6), or "
        "random words by frequency (DAE of Table 2b)",
    )
    kept_tokens: KEPT_TOKENS = option(  # type: ignore[valid-type]
        "uniform",
        "how many of n tokens random dropping keeps: 0 to n (uniform), or 0 to n - 1 "
        "(incomplete, as in fairseq)",
    )
    token_masking: TOKEN_MASKING = option(  # type: ignore[valid-type]
        "none",
        "uniform: the token head also learns to predict a uniform share of the tokens "
        "already present",
    )
    glancing: float = option(
        0.0,
        "how many of the masked tokens the token head is shown before it learns the others, as a "
        "share of the number that it gets wrong; drawn from all of them (Qian et al., 2021)",
        within=BELOW_ONE,
    )
    delete_threshold: OptionalFloat = option(
        None,
        "decoding: delete a token if its deletion probability is above this (default: 0.5)",
        within=SHARE,
    )
    stock_decoding: bool = option(
        False,
        "decode exactly as fairseq's levenshtein_transformer: one more iteration, unk "
        "refilled, whole iterations compared, its length limit",
    )
    noise_scale: float = option(
        0.5,
        "scale of the Gumbel noise that makes the candidates of --iter-decode-with-beam "
        "differ; 1 samples from the policies",
        within=NOT_NEGATIVE,
    )
    markup: bool = option(
        False,
        "fairseq-interactive: read marks in drafts, [=keep=], [-delete-], [+term+]; write "
        "\\[ for a literal bracket",
    )
    terms: OptionalStr = option(
        None,
        "fairseq-interactive: file of source<TAB>term<TAB>term …, as --constraints reads: outputs "
        "of these sources have the terms, in their order; drafts have marks, as with --markup",
    )
    seed: int = II("common.seed")


def stack_of(head: str, sharing: str) -> str:
    """Returns the stack of decoder blocks that a head runs through, by its name in checkpoints."""
    sharers = SHARING[sharing] if head in SHARING[sharing] else {head}
    return "token" if "token" in sharers else min(sharers)


def exit_depths(cfg: LevenshteinEditorConfig) -> dict[str, int]:
    """Returns the number of decoder blocks before each head.

    Raises:
        UserError: --early-exit does not fit the layers.
    """
    layers = cfg.decoder_layers
    text = str(cfg.early_exit)
    fields = text.split(",") if text else [str(layers)] * 2
    numbers = [int(field) if field.isascii() and field.isdigit() else 0 for field in fields]
    depths = dict(zip(HEADS, [*numbers[:2], layers, layers]))
    deepest = max(
        depths[head] for head in HEADS if stack_of(head, str(cfg.weight_sharing)) == "token"
    )
    # fairseq's --early-exit has a third number, for tokens
    is_complete = len(numbers) >= 2 and numbers[2:] in ([], [layers])
    if not is_complete or 0 in numbers or deepest > layers:
        raise UserError(
            f"--early-exit {text} does not fit --decoder-layers {layers}: give 2 numbers of "
            f"blocks, for deletion and placeholder, each between 1 and {layers}"
        )
    return depths
