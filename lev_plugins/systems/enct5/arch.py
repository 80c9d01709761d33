"""Named sizes of ``enct5``: those of T5 1.1, and a tiny one for two cores.

The model's own name is also the name of the base size, which are the defaults of its
configuration.
"""

from argparse import Namespace

from fairseq.models import register_model_architecture

from ...nn.seq2seq.config import set_sizes
from .model import MODEL


@register_model_architecture(MODEL, "enct5_tiny")
def enct5_tiny(args: Namespace) -> None:
    """For two cores, from scratch: 2 blocks, d = 128, 4 heads."""
    set_sizes(args, dim=128, hidden=256, layers=2, heads=4, attention_head_dim=32)


@register_model_architecture(MODEL, "enct5_small")
def enct5_small(args: Namespace) -> None:
    """T5 1.1 small: 8 blocks, d = 512, 6 heads."""
    set_sizes(args, dim=512, hidden=1024, layers=8, heads=6, attention_head_dim=64)


@register_model_architecture(MODEL, "enct5_base")
def enct5_base(args: Namespace) -> None:
    """T5 1.1 base: 12 blocks, d = 768, 12 heads."""
    set_sizes(args, dim=768, hidden=2048, layers=12, heads=12, attention_head_dim=64)


@register_model_architecture(MODEL, "enct5_large")
def enct5_large(args: Namespace) -> None:
    """T5 1.1 large: 24 blocks, d = 1024, 16 heads."""
    set_sizes(args, dim=1024, hidden=2816, layers=24, heads=16, attention_head_dim=64)


@register_model_architecture(MODEL, "enct5_xl")
def enct5_xl(args: Namespace) -> None:
    """T5 1.1 XL: 24 blocks, d = 2048, 32 heads."""
    set_sizes(args, dim=2048, hidden=5120, layers=24, heads=32, attention_head_dim=64)


@register_model_architecture(MODEL, "enct5_xxl")
def enct5_xxl(args: Namespace) -> None:
    """T5 1.1 XXL: 24 blocks, d = 4096, 64 heads."""
    set_sizes(args, dim=4096, hidden=10240, layers=24, heads=64, attention_head_dim=64)
