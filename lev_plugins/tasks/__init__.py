"""Tasks that several systems share: their data, their training and their decoding."""

from ..deprecation import renamed_names
from .noisy_translation import NoisyTranslationConfig, NoisyTranslationTask

__all__ = ["NoisyTranslationConfig", "NoisyTranslationTask"]

_SYSTEMS = f"{__name__.rpartition('.')[0]}.systems"  # the folder may have been renamed
_CONCAT, _EDIT = f"{_SYSTEMS}.transformer_concat.task", f"{_SYSTEMS}.levenshtein.task"
__getattr__ = renamed_names(
    __name__,
    {
        "TranslationConcatConfig": f"{_CONCAT}:TranslationConcatConfig",
        "TranslationConcatTask": f"{_CONCAT}:TranslationConcatTask",
        "TranslationEditConfig": f"{_EDIT}:TranslationEditConfig",
        "TranslationEditTask": f"{_EDIT}:TranslationEditTask",
    },
)
