"""Tasks: what data look like, how a system trains on them and how it decodes them."""

from .noisy_translation import NoisyTranslationConfig, NoisyTranslationTask
from .translation_concat import TranslationConcatConfig, TranslationConcatTask
from .translation_edit import TranslationEditConfig, TranslationEditTask

__all__ = [
    "NoisyTranslationConfig",
    "NoisyTranslationTask",
    "TranslationConcatConfig",
    "TranslationConcatTask",
    "TranslationEditConfig",
    "TranslationEditTask",
]
