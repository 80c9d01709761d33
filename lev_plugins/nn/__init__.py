"""Neural building blocks: nn.Modules that know nothing of tasks."""

from .embedding import Positions
from .transformer import Memory, TransformerBlock, TransformerStack

__all__ = ["Memory", "Positions", "TransformerBlock", "TransformerStack"]
