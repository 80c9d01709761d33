"""lev_memory: translations of changed sources, from a project's own memory."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # loaded when asked for
    from .translation_memory import TranslationMemory as TranslationMemory

__all__ = ["TranslationMemory"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".translation_memory", __name__), name)
