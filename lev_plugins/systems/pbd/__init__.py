"""Pseudo-Bidirectional Decoding (Zhou, Ge and Xu, 2020): a Transformer for local edits.

The decoder also sees the source to the right of where it writes, and shares the encoder's
parameters.
"""

from .config import PBDTransformerConfig
from .model import PBDTransformerModel

__all__ = ["PBDTransformerConfig", "PBDTransformerModel"]
