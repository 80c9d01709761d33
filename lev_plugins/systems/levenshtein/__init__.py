"""LevT, the Levenshtein Transformer (Gu, Wang and Zhao, 2019), for generation and post-editing."""

from . import arch, criterion, stock, task
from .config import LevenshteinEditorConfig
from .criterion import EditPolicyLoss
from .model import LevenshteinEditorModel

__all__ = [
    "EditPolicyLoss",
    "LevenshteinEditorConfig",
    "LevenshteinEditorModel",
    "arch",
    "criterion",
    "stock",
    "task",
]
