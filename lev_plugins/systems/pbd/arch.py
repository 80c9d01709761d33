"""Named sizes of ``pbd_transformer``.

The model's own name is also the name of a Transformer's base size (6 + 6 blocks, d = 512, 8
heads), which are the defaults of its configuration.
"""

from argparse import Namespace

from fairseq.models import register_model_architecture

from ...nn.seq2seq.config import set_character_size, set_sizes
from .model import MODEL


@register_model_architecture(MODEL, "pbd_transformer_big")
def pbd_transformer_big(args: Namespace) -> None:
    """The paper's size for grammar (§3.1, transformer-big): 6 + 6 blocks, d = 1024, 16 heads."""
    set_sizes(args, dim=1024, hidden=4096, layers=6, heads=16, dropout=0.3)


@register_model_architecture(MODEL, "pbd_transformer_char")
def pbd_transformer_char(args: Namespace) -> None:
    """For the characters of words (§3.2): 2 + 2 blocks, d = 256, 4 heads, pre-norm."""
    set_character_size(args)
