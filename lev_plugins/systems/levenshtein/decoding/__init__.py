"""Decoding by iterative refinement."""

from .refinement import RefinementGenerator, RefinementOptions

__all__ = ["RefinementGenerator", "RefinementOptions"]
