"""The systems, one folder each."""

from . import gated, pbd, transformer_concat

__all__ = ["gated", "pbd", "transformer_concat"]
