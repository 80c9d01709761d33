"""The autoregressive baseline of LevT's paper: a Transformer that reads source and draft (§C.2)."""

from . import task
from .config import TransformerConcatConfig
from .model import TransformerConcatModel

__all__ = ["TransformerConcatConfig", "TransformerConcatModel", "task"]
