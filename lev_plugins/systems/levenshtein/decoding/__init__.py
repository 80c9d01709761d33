"""Decoding by iterative refinement."""

from .generator import RefinementGenerator
from .options import RefinementOptions

__all__ = ["RefinementGenerator", "RefinementOptions"]
