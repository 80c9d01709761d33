"""Small models of ``pbd_transformer``; see ``seq2seq_models.py``."""

from typing import Any

import tiny
from seq2seq_models import Pair, Seq2Seq

from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel

SYMBOLS = tiny.dictionary()
# sources shorter and longer than targets, as long, and empty
ROWS = [
    Pair("abcd", "abcdefgh"),
    Pair("hgfedcba", "hag"),
    Pair("cafe", "cafe"),
    Pair("abcdefgh", ""),
    Pair("", "dada"),
    Pair("", ""),
]
PRE = {"encoder_normalize_before": True}
#: each option with either norm, once or twice
KINDS: dict[str, dict[str, Any]] = {
    "as published, post-norm": {},
    "as published, pre-norm": PRE,
    "learned positions, outputs copied, post-norm": {
        "encoder_learned_pos": True,
        "copied_states": "output",
    },
    "no sharing, post-norm": {"no_parameter_sharing": True},
    "no sharing, outputs copied, one table, pre-norm": {
        "no_parameter_sharing": True,
        "copied_states": "output",
        "share_all_embeddings": True,
        "encoder_learned_pos": True,
        "activation_fn": "gelu",
        **PRE,
    },
    "rotary positions, pre-norm": {"rotary_positions": True, **PRE},
    "no segments, pre-norm": {"no_segment_embedding": True, **PRE},
    "no sharing, no future, deep decoder, post-norm": {
        "no_parameter_sharing": True,
        "no_future_modelling": True,
        "share_decoder_input_output_embed": True,
        "decoder_layers": 3,
        "rotary_positions": True,
    },
}
NORMS: dict[str, dict[str, Any]] = {"post-norm": {}, "pre-norm": PRE}
PBD = Seq2Seq(
    PBDTransformerConfig,
    PBDTransformerModel,
    SYMBOLS,
    ROWS,
    KINDS,
    search=(
        "as published, post-norm",
        "as published, pre-norm",
        "rotary positions, pre-norm",
        "no sharing, outputs copied, one table, pre-norm",
    ),
    seeds=(3, 3, 3, 4),
)
build, batch, logits = PBD.build, PBD.batch, PBD.logits
