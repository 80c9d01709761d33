"""Named sizes of ``levenshtein_editor``.

The model's own name is also the name of the paper's base size (§C.1: 6 + 6 blocks, d = 512,
8 heads), which are the defaults of its configuration.
"""

from argparse import Namespace

from fairseq.models import register_model_architecture

from ...options import set_defaults
from .model import MODEL


@register_model_architecture(MODEL, "levenshtein_editor_char")
def levenshtein_editor_char(args: Namespace) -> None:
    """For characters: 2 + 2 blocks, d = 128, pre-norm; trains on two cores."""
    set_defaults(
        args,
        encoder_embed_dim=128,
        encoder_ffn_embed_dim=512,
        encoder_layers=2,
        encoder_attention_heads=4,
        encoder_normalize_before=True,
        decoder_embed_dim=getattr(args, "encoder_embed_dim", 128),
        decoder_ffn_embed_dim=getattr(args, "encoder_ffn_embed_dim", 512),
        decoder_layers=2,
        decoder_attention_heads=getattr(args, "encoder_attention_heads", 4),
        decoder_normalize_before=True,
        max_insertions=31,
    )


@register_model_architecture(MODEL, "levenshtein_editor_small")
def levenshtein_editor_small(args: Namespace) -> None:
    """For small data (tens of thousands of sentences): 3 + 3 blocks, d = 256, pre-norm."""
    set_defaults(
        args,
        encoder_embed_dim=256,
        encoder_ffn_embed_dim=1024,
        encoder_layers=3,
        encoder_attention_heads=4,
        encoder_normalize_before=True,
        decoder_embed_dim=getattr(args, "encoder_embed_dim", 256),
        decoder_ffn_embed_dim=getattr(args, "encoder_ffn_embed_dim", 1024),
        decoder_layers=3,
        decoder_attention_heads=getattr(args, "encoder_attention_heads", 4),
        decoder_normalize_before=True,
    )
