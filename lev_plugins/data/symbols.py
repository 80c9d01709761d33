"""Whether two dictionaries number the same words alike."""

from ..compat.symbols import difference

__all__ = ["difference"]
