"""Small models of ``pbd_transformer``; see ``seq2seq_models.py``."""

import itertools
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
_KINDS: dict[str, dict[str, Any]] = {
    "as published": {},
    "no future": {"no_future_modelling": True},
    "no sharing": {"no_parameter_sharing": True},
    "no segments": {"no_segment_embedding": True},
    "outputs copied": {"copied_states": "output"},
    "learned positions": {"encoder_learned_pos": True},
    "no sharing, outputs copied, one table": {
        "no_parameter_sharing": True,
        "copied_states": "output",
        "share_all_embeddings": True,
        "encoder_learned_pos": True,
        "activation_fn": "gelu",
    },
    "no sharing, no future, deep decoder": {
        "no_parameter_sharing": True,
        "no_future_modelling": True,
        "share_decoder_input_output_embed": True,
        "decoder_layers": 3,
    },
    "nothing of it": {
        "no_parameter_sharing": True,
        "no_future_modelling": True,
        "no_segment_embedding": True,
    },
}
KINDS = {
    f"{name}, {norm}": {**values, "encoder_normalize_before": norm == "pre-norm"}
    for (name, values), norm in itertools.product(_KINDS.items(), ("post-norm", "pre-norm"))
}
NORMS = {"post-norm": {}, "pre-norm": {"encoder_normalize_before": True}}
PBD = Seq2Seq(
    PBDTransformerConfig,
    PBDTransformerModel,
    SYMBOLS,
    ROWS,
    KINDS,
    search=(
        "as published, post-norm",
        "as published, pre-norm",
        "no sharing, pre-norm",
        "no sharing, outputs copied, one table, pre-norm",
    ),
    seeds=(3, 3, 1, 4),
)
build, batch, logits = PBD.build, PBD.batch, PBD.logits
