"""Small models of ``gated_transformer``; see ``seq2seq_models.py``."""

from typing import Any

import tiny
from fairseq.data import Dictionary
from seq2seq_models import Pair, Seq2Seq

from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel

MASK = "<mask>"


def dictionary(letters: str = tiny.LETTERS, mask: str | None = MASK) -> Dictionary:
    """Letters, and behind them the mask symbol."""
    made = tiny.dictionary(letters)
    if mask is not None:
        made.add_symbol(mask)
    return made


SYMBOLS = dictionary()
# of the source's letters f, g and h are not in it, and those that are have other numbers
OTHERS = dictionary("xyzedcba")
VARIANTS = ("paper", "pointer")
ALL = "mask,copy,generate,skip"
PRE = {"encoder_normalize_before": True}
# sources shorter and longer than targets, as long, and empty
ROWS = [
    Pair("abcd", "abcdeabc"),
    Pair("hgfedcba", "bag"),
    Pair("cafe", "cafe"),
    Pair("abcdefgh", ""),
    Pair("", "dada"),
    Pair("", ""),
]

# every gate with every other, on and off
SUBSETS = ["none", "mask", "generate", "copy,generate", "mask,generate,skip", "mask,skip", ALL]


def allowed(gates: str, variant: str) -> bool:
    """Whether the variant works with these gates."""
    decoding = [name for name in gates.split(",") if name not in ("none", "mask")]
    return variant != "pointer" or not decoding or "generate" in decoding


#: each option with either norm, once or twice
KINDS: dict[str, dict[str, Any]] = {
    f"paper, {ALL}, post-norm": {"gate_variant": "paper", "gates": ALL},
    f"pointer, {ALL}, post-norm": {"gate_variant": "pointer", "gates": ALL},
    "paper, mask,generate, pre-norm": {"gate_variant": "paper", "gates": "mask,generate", **PRE},
    "pointer, copy,generate, pre-norm": {
        "gate_variant": "pointer",
        "gates": "copy,generate",
        **PRE,
    },
    "pointer, learned positions, one table": {
        "gate_variant": "pointer",
        "encoder_learned_pos": True,
        "share_all_embeddings": True,
    },
    "paper, deep decoder": {
        "gate_variant": "paper",
        "decoder_layers": 3,
        "share_decoder_input_output_embed": True,
        "activation_fn": "gelu",
        **PRE,
    },
}


def _config(**values: Any) -> GatedTransformerConfig:
    return GatedTransformerConfig(**{"decoder_layers": 2, **values})


GATED = Seq2Seq(
    _config,
    GatedTransformerModel,
    SYMBOLS,
    ROWS,
    KINDS,
    search=[f"{variant}, {ALL}, post-norm" for variant in VARIANTS],
    seeds=(8, 6),
    untrained=("encoder.embed.table.weight", "decoder.embed.table.weight"),
)
build, batch, answers = GATED.build, GATED.batch, GATED.answers
