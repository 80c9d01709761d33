"""Named sizes of ``enct5``: those of T5 1.1, and a tiny one for two cores.

The model's own name is also the name of the base size, which are the defaults of its
configuration.
"""

from functools import partial

from fairseq.models import register_model_architecture

from ...nn.seq2seq.config import set_sizes
from .model import MODEL

#: name → width, width of the feed-forward layers, blocks, heads, width of a head
SIZES = {
    "tiny": (128, 256, 2, 4, 32),  # for two cores, from scratch
    "small": (512, 1024, 8, 6, 64),
    "base": (768, 2048, 12, 12, 64),
    "large": (1024, 2816, 24, 16, 64),
    "xl": (2048, 5120, 24, 32, 64),
    "xxl": (4096, 10240, 24, 64, 64),
}

for _name, (_dim, _hidden, _layers, _heads, _head_dim) in SIZES.items():
    register_model_architecture(MODEL, f"enct5_{_name}")(
        partial(
            set_sizes,
            dim=_dim,
            hidden=_hidden,
            layers=_layers,
            heads=_heads,
            attention_head_dim=_head_dim,
        )
    )
