"""LevT, the Levenshtein Transformer (Gu, Wang and Zhao, 2019), for generation and post-editing."""

from . import arch, stock
from .config import LevenshteinEditorConfig
from .model import LevenshteinEditorModel

__all__ = ["LevenshteinEditorConfig", "LevenshteinEditorModel", "arch", "stock"]
