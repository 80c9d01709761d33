"""Named sizes of ``gated_transformer``.

The model's own name is also the name of a Transformer's base size (6 + 6 blocks, d = 512, 8
heads), which are the defaults of its configuration.
"""

import json
from argparse import Namespace

from fairseq.models import register_model_architecture

from ...nn.seq2seq.config import set_character_size
from ...options import set_defaults
from .model import MODEL


@register_model_architecture(MODEL, "gated_transformer_char")
def gated_transformer_char(args: Namespace) -> None:
    """For characters: 2 + 2 blocks, d = 256, 4 heads, pre-norm; trains on two cores."""
    set_character_size(args, decoder_layers=2)


def _plan(args: Namespace, kind: str, mask: str, **sizes: object) -> None:
    """The sizes of a pre-trained model, randomly initialised unless ``--backbone`` brings its
    own.
    """
    plan = json.dumps({"kind": kind, "mask": mask, "plan": sizes})
    set_defaults(args, backbone_plan=plan, dropout=0.1, attention_dropout=0.1)


def _bert(args: Namespace, **sizes: object) -> None:
    sizes = {"rows": 30522, "heads": 12, "positions": 512, **sizes}
    _plan(args, "bert", "[MASK]", activation="gelu", eps=1e-12, **sizes)


@register_model_architecture(MODEL, "gated_bert_base")
def gated_bert_base(args: Namespace) -> None:
    """BERT-base in encoder and decoder (paper, §4.2): 12 + 12 blocks, d = 768, 12 heads."""
    _bert(args, dim=768, hidden=3072, layers=12, head=True)


@register_model_architecture(MODEL, "gated_bert_minilm")
def gated_bert_minilm(args: Namespace) -> None:
    """A small BERT that PyPI has (all-MiniLM-L6-v2): 6 + 6 blocks, d = 384, 12 heads."""
    _bert(args, dim=384, hidden=1536, layers=6, head=False)


@register_model_architecture(MODEL, "gated_bart_base")
def gated_bart_base(args: Namespace) -> None:
    """BART-base (paper, §4.2): 6 + 6 blocks, d = 768, 12 heads."""
    side = {"heads": 12, "hidden": 3072, "layers": 6}
    sizes = {"rows": 50265, "dim": 768, "encoder": side, "decoder": side, "positions": 1024}
    _plan(args, "bart", "<mask>", activation="gelu", scaled=False, bias=True, **sizes)


@register_model_architecture(MODEL, "gated_t5_base")
def gated_t5_base(args: Namespace) -> None:
    """T5 1.1 base (paper, §4.2): 12 + 12 blocks, d = 768, 12 heads."""
    _plan(
        args,
        "t5",
        "<extra_id_0>",
        rows=32128,
        dim=768,
        heads=12,
        head_dim=64,
        hidden=2048,
        encoder_layers=12,
        decoder_layers=12,
        feed_forward="gated-gelu",
        buckets=32,
        longest=128,
        eps=1e-6,
        tied=False,
        scaled=False,
    )
