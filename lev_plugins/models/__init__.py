"""The systems, one folder each."""

from . import pbd, transformer_concat

__all__ = ["pbd", "transformer_concat"]
