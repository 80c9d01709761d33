"""The options of task ``translation_edit``."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum
from omegaconf import II

from ...options import OptionalFloat, option
from ...tasks.post_editing import PostEditingConfig
from .decoding.diversity import DIVERSITY
from .decoding.oracle import ORACLES
from .roll_in import KEPT_TOKENS, ROLL_IN_TOKENS, TOKEN_MASKING


@dataclass
class TranslationEditConfig(PostEditingConfig):
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
    roll_in_updates: int = option(
        0,
        "updates over which alpha and beta move linearly from their start values to --alpha and "
        "--beta: learn to generate first, then to edit drafts",
    )
    roll_in_share: float = option(
        0.0,
        "with --lr-scheduler time_budget, in the place of --roll-in-updates: share of the time "
        "over which alpha and beta move",
    )
    roll_in_tokens: ChoiceEnum(ROLL_IN_TOKENS) = option(  # type: ignore[valid-type]
        "argmax",
        "what stands for the model's own insertions when it learns to delete: argmax (Alg. 1), "
        "sample (Eq. 6), or random, words sampled by frequency: nothing of the model itself, the "
        "DAE of Table 2b",
    )
    kept_tokens: ChoiceEnum(KEPT_TOKENS) = option(  # type: ignore[valid-type]
        "uniform",
        "how many of n tokens random dropping keeps: uniform, 0 to n alike; incomplete, 0 to n - "
        "1, as fairseq does; few, the square of a uniform share, so that more is gone",
    )
    token_masking: ChoiceEnum(TOKEN_MASKING) = option(  # type: ignore[valid-type]
        "none",
        "uniform: the token head learns to predict a uniform share of the tokens that stand as "
        "well, as a masked language model does; placeholders and deletions are learnt as before. "
        "It gets more labels from a batch",
    )
    delete_threshold: OptionalFloat = option(
        None,
        "decoding: a token goes when its probability of deletion is above this; higher leaves "
        "more of a draft alone (default: what tune --keep has put into the checkpoint, else 0.5, "
        "the argmax)",
    )
    untuned: bool = option(False, "decoding: ignore what tune --keep has put into the checkpoint")
    stock_decoding: bool = option(
        False,
        "decode as fairseq's levenshtein_transformer does, token for token: one iteration more, "
        "unk refilled, whole iterations compared, its length limit",
    )
    oracle: ChoiceEnum(ORACLES) = option(  # type: ignore[valid-type]
        "none",
        "decoding with the reference's help (paper, Fig. 5): none, deletion, or "
        "deletion+placeholder",
    )
    diversity: ChoiceEnum(DIVERSITY) = option(  # type: ignore[valid-type]
        "length",
        "how the candidates of --iter-decode-with-beam differ: length (the likeliest changes of a "
        "number of insertions), penalty (gamma up to 3), or noise (noisy parallel decoding)",
    )
    noise_scale: float = option(
        0.5, ("scale of the Gumbel noise of --diversity noise; 1 samples from the policies")
    )
    markup: bool = option(
        False,
        "interactive: drafts have marks: [=stays=], [-goes-], [~another~], [+term+]; a backslash "
        "before [ makes it text",
    )
    seed: int = II("common.seed")
