"""Tasks: what data look like, how a system trains on them and how it decodes them."""

from .translation_concat import TranslationConcatConfig, TranslationConcatTask
from .translation_edit import TranslationEditConfig, TranslationEditTask

__all__ = [
    "TranslationConcatConfig",
    "TranslationConcatTask",
    "TranslationEditConfig",
    "TranslationEditTask",
]
