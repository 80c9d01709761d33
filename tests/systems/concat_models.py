"""Small models of ``transformer_concat``; see ``seq2seq_models.py``."""

from typing import Any

import tiny
from seq2seq_models import Seq2Seq

from lev_plugins.systems.transformer_concat import TransformerConcatConfig, TransformerConcatModel

SYMBOLS = tiny.dictionary()
ROWS = [
    tiny.Triple("abcd", "abcdefgh", "abdgh"),
    tiny.Triple("hg", "cafe", "cafebabe"),
    tiny.Triple("abcdefgh", "b", "b"),
    tiny.Triple("e", "ddd", ""),
    tiny.Triple("", "", "gaga"),
    tiny.Triple("", "head", ""),
]
KINDS: dict[str, dict[str, Any]] = {
    "sinusoids": {},
    "learned, pre-norm, shared": {
        "encoder_learned_pos": True,
        "decoder_learned_pos": True,
        "encoder_normalize_before": True,
        "decoder_normalize_before": True,
        "share_all_embeddings": True,
    },
    "normed embeddings, narrow decoder": {
        "layernorm_embedding": True,
        "no_scale_embedding": True,
        "decoder_embed_dim": 4,
        "decoder_ffn_embed_dim": 6,
        "decoder_attention_heads": 1,
        "share_decoder_input_output_embed": True,
    },
}


def config(**values: Any) -> TransformerConcatConfig:
    return TransformerConcatConfig(**{"decoder_layers": 2, **values})


CONCAT = Seq2Seq(
    config,
    TransformerConcatModel,
    SYMBOLS,
    ROWS,
    KINDS,
    search=["sinusoids", "learned, pre-norm, shared"],
    seeds=(4, 3),
    joins=True,
    exact=False,  # fairseq's attention takes its softmax in single precision
    left_target=False,  # fairseq's decoder is not made for it
)
build, batch, logits = CONCAT.build, CONCAT.batch, CONCAT.logits
