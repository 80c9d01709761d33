"""Named sizes of ``pbd_transformer``.

The model's own name is also the name of a Transformer's base size (6 + 6 blocks, d = 512, 8
heads), which are the defaults of its configuration.
"""

from argparse import Namespace

from fairseq.models import register_model_architecture

from ...options import set_defaults
from .model import MODEL


@register_model_architecture(MODEL, "pbd_transformer_big")
def pbd_transformer_big(args: Namespace) -> None:
    """The paper's size for grammar (§3.1, transformer-big): 6 + 6 blocks, d = 1024, 16 heads."""
    set_defaults(
        args,
        encoder_embed_dim=1024,
        encoder_ffn_embed_dim=4096,
        encoder_attention_heads=16,
        dropout=0.3,
    )


@register_model_architecture(MODEL, "pbd_transformer_char")
def pbd_transformer_char(args: Namespace) -> None:
    """For the characters of words (§3.2): 2 + 2 blocks, d = 256, 4 heads, pre-norm."""
    set_defaults(
        args,
        encoder_embed_dim=256,
        encoder_ffn_embed_dim=1024,
        encoder_layers=2,
        encoder_attention_heads=4,
        encoder_normalize_before=True,
        dropout=0.2,
        attention_dropout=0.1,
    )
