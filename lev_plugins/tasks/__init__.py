"""Tasks that several systems share: their data, their training and their decoding."""

from .noisy_translation import NoisyTranslationConfig, NoisyTranslationTask

__all__ = ["NoisyTranslationConfig", "NoisyTranslationTask"]
