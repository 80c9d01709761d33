"""Named sizes of ``levenshtein_editor``.

The model's own name is also the name of the paper's base size (§C.1: 6 + 6 blocks, d = 512,
8 heads), which are the defaults of its configuration.
"""

from argparse import Namespace

from fairseq.models import register_model_architecture

from ...nn.seq2seq.config import set_both_sides
from .model import MODEL


@register_model_architecture(MODEL, "levenshtein_editor_char")
def levenshtein_editor_char(args: Namespace) -> None:
    """For characters: 2 + 2 blocks, d = 128, pre-norm; trains on two cores."""
    set_both_sides(args, dim=128, hidden=512, layers=2, heads=4, max_insertions=31)


@register_model_architecture(MODEL, "levenshtein_editor_small")
def levenshtein_editor_small(args: Namespace) -> None:
    """For small data (tens of thousands of sentences): 3 + 3 blocks, d = 256, pre-norm."""
    set_both_sides(args, dim=256, hidden=1024, layers=3, heads=4)
