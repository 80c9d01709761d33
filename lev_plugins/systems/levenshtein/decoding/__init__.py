"""Decoding by iterative refinement."""

from .options import RefinementOptions
from .refinement import RefinementGenerator

__all__ = ["RefinementGenerator", "RefinementOptions"]
