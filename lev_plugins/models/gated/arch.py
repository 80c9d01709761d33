"""Named sizes of ``gated_transformer``.

The model's own name is also the name of a Transformer's base size (6 + 6 blocks, d = 512, 8
heads), which are the defaults of its configuration.
"""

import json
from argparse import Namespace
from typing import Any

from fairseq.models import register_model_architecture

from .model import MODEL


def _defaults(args: Namespace, **values: Any) -> None:
    for name, value in values.items():
        setattr(args, name, getattr(args, name, value))


@register_model_architecture(MODEL, "gated_transformer_char")
def gated_transformer_char(args: Namespace) -> None:
    """For characters: 2 + 2 blocks, d = 256, 4 heads, pre-norm; trains on two cores."""
    _defaults(
        args,
        encoder_embed_dim=256,
        encoder_ffn_embed_dim=1024,
        encoder_layers=2,
        encoder_attention_heads=4,
        encoder_normalize_before=True,
        decoder_layers=2,
        dropout=0.2,
        attention_dropout=0.1,
    )


def _bert(args: Namespace, **plan: Any) -> None:
    sizes = {"positions": 512, "activation": "gelu", "eps": 1e-12, **plan}
    found = {"kind": "bert", "mask": "[MASK]", "plan": sizes}
    _defaults(args, backbone_plan=json.dumps(found), dropout=0.1, attention_dropout=0.1)


@register_model_architecture(MODEL, "gated_bert_base")
def gated_bert_base(args: Namespace) -> None:
    """BERT-base in encoder and decoder (paper, §4.2): 12 + 12 blocks, d = 768, 12 heads."""
    _bert(args, rows=30522, dim=768, heads=12, hidden=3072, layers=12, head=True)


@register_model_architecture(MODEL, "gated_bert_minilm")
def gated_bert_minilm(args: Namespace) -> None:
    """A small BERT that PyPI has (all-MiniLM-L6-v2): 6 + 6 blocks, d = 384, 12 heads."""
    _bert(args, rows=30522, dim=384, heads=12, hidden=1536, layers=6, head=False)
