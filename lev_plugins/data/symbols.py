"""Whether two dictionaries number the same words alike."""

from ..fairseq_patches.symbols import difference

__all__ = ["difference"]
