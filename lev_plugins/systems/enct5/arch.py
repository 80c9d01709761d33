"""Named sizes of ``enct5``: those of T5 1.1, and a tiny one for two cores.

The model's own name is also the name of the base size, which are the defaults of its
configuration.
"""

from argparse import Namespace

from fairseq.models import register_model_architecture

from ...options import set_defaults
from .model import MODEL


def _size(args: Namespace, dim: int, hidden: int, layers: int, heads: int, width: int = 64) -> None:
    set_defaults(
        args,
        encoder_embed_dim=dim,
        encoder_ffn_embed_dim=hidden,
        encoder_layers=layers,
        encoder_attention_heads=heads,
        attention_head_dim=width,
    )


@register_model_architecture(MODEL, "enct5_tiny")
def enct5_tiny(args: Namespace) -> None:
    """For two cores, from scratch: 2 blocks, d = 128, 4 heads."""
    _size(args, dim=128, hidden=256, layers=2, heads=4, width=32)


@register_model_architecture(MODEL, "enct5_small")
def enct5_small(args: Namespace) -> None:
    """T5 1.1 small: 8 blocks, d = 512, 6 heads."""
    _size(args, dim=512, hidden=1024, layers=8, heads=6)


@register_model_architecture(MODEL, "enct5_base")
def enct5_base(args: Namespace) -> None:
    """T5 1.1 base: 12 blocks, d = 768, 12 heads."""
    _size(args, dim=768, hidden=2048, layers=12, heads=12)


@register_model_architecture(MODEL, "enct5_large")
def enct5_large(args: Namespace) -> None:
    """T5 1.1 large: 24 blocks, d = 1024, 16 heads."""
    _size(args, dim=1024, hidden=2816, layers=24, heads=16)


@register_model_architecture(MODEL, "enct5_xl")
def enct5_xl(args: Namespace) -> None:
    """T5 1.1 XL: 24 blocks, d = 2048, 32 heads."""
    _size(args, dim=2048, hidden=5120, layers=24, heads=32)


@register_model_architecture(MODEL, "enct5_xxl")
def enct5_xxl(args: Namespace) -> None:
    """T5 1.1 XXL: 24 blocks, d = 4096, 64 heads."""
    _size(args, dim=4096, hidden=10240, layers=24, heads=64)
