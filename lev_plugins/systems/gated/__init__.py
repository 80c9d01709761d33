"""gated-Trans (Sengupta et al., 2021): denoising with mask, copy, generate and skip gates."""

from .config import GatedTransformerConfig
from .model import GatedTransformerModel

__all__ = ["GatedTransformerConfig", "GatedTransformerModel"]
