"""EncT5 (Liu et al., 2021): T5 made non-autoregressive for classification and tagging."""

from . import criterion
from .config import EncT5Config
from .model import EncT5Model
from .task import EncT5Task, EncT5TaskConfig

__all__ = ["EncT5Config", "EncT5Model", "EncT5Task", "EncT5TaskConfig", "criterion"]
