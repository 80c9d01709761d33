"""The systems, one folder each."""

from . import transformer_concat

__all__ = ["transformer_concat"]
