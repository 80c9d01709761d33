"""Models that edit text, as plug-ins for fairseq (``--user-dir lev_plugins``).

Importing this package registers its models, tasks, criterions and scorers and works around faults
of fairseq (:mod:`.compat`). Nothing is printed.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import compat, deprecation

compat.apply()
sys.meta_path.append(deprecation.MovedModules(__name__, deprecation.MODULES))

from . import criterions, models, optim, pretrained, scoring, tasks  # noqa: E402
from .errors import UserError  # noqa: E402
from .models import levenshtein  # noqa: E402

if TYPE_CHECKING:  # loaded when asked for, which no type checker follows
    from .correction import Correction, Corrector, Edit
    from .generators.history import EditTrace, Iteration
    from .hub import LevenshteinEditor
    from .prediction import EncT5, Prediction, Tagged

__version__ = "0.5.0"
__all__ = [
    "Correction",
    "Corrector",
    "Edit",
    "EditTrace",
    "EncT5",
    "Iteration",
    "LevenshteinEditor",
    "Prediction",
    "Tagged",
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

_LAZY = {
    "Correction": "correction",
    "Corrector": "correction",
    "Edit": "correction",
    "EditTrace": "generators.history",
    "EncT5": "prediction",
    "Iteration": "generators.history",
    "LevenshteinEditor": "hub",
    "Prediction": "prediction",
    "Tagged": "prediction",
}


def __getattr__(name: str) -> Any:
    """``LevenshteinEditor`` and other parts of the Python interface, loaded when asked for."""
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
