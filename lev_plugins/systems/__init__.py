"""The systems, one folder each."""

from . import enct5, gated, levenshtein, pbd, transformer_concat

__all__ = ["enct5", "gated", "levenshtein", "pbd", "transformer_concat"]
