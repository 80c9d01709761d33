"""Models that edit text, as plug-ins for fairseq (``--user-dir lev_plugins``).

Importing this package registers its models, tasks, criterions and scorers and works around faults
of fairseq (:mod:`.compat`). Nothing is printed.
"""

from typing import Any

from . import compat

compat.apply()

from . import criterions, models, optim, pretrained, scoring, tasks  # noqa: E402
from .errors import UserError  # noqa: E402
from .models import levenshtein  # noqa: E402

__version__ = "0.5.0"
__all__ = [
    "UserError",
    "compat",
    "criterions",
    "levenshtein",
    "models",
    "optim",
    "pretrained",
    "scoring",
    "tasks",
]


def __getattr__(name: str) -> Any:
    """``LevenshteinEditor`` and other parts of the Python interface, loaded when asked for."""
    if name == "LevenshteinEditor":
        from .hub import LevenshteinEditor

        return LevenshteinEditor
    if name == "Corrector":
        from .correction import Corrector

        return Corrector
    if name == "EncT5":
        from .prediction import EncT5

        return EncT5
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
