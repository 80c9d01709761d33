"""Models that edit text, as plug-ins for fairseq (``--user-dir lev_plugins``).

Importing this package registers its models, tasks, criterions and scorers and works around faults
of fairseq (:mod:`.fairseq_patches`). Nothing is printed. Where Python is started to run a command
of this package, the command does so once it needs fairseq.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import fairseq_patches, registration
from .errors import UserError
from .io.program import starts_own_command

if not starts_own_command(__name__):
    registration.register()

if TYPE_CHECKING:  # loaded when asked for, which no type checker follows
    from . import metrics, optim, pretrained, systems, tasks
    from .inference.correction import Correction, Corrector, Edit
    from .inference.editor import LevenshteinEditor
    from .inference.enct5 import EncT5, Prediction, Tagged
    from .systems import levenshtein
    from .systems.levenshtein.decoding.history import EditTrace, Iteration

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
    "fairseq_patches",
    "levenshtein",
    "metrics",
    "optim",
    "pretrained",
    "systems",
    "tasks",
]

_LAZY = {
    "Correction": "inference.correction",
    "Corrector": "inference.correction",
    "Edit": "inference.correction",
    "EditTrace": "systems.levenshtein.decoding.history",
    "EncT5": "inference.enct5",
    "Iteration": "systems.levenshtein.decoding.history",
    "LevenshteinEditor": "inference.editor",
    "Prediction": "inference.enct5",
    "Tagged": "inference.enct5",
}
_PACKAGES = {
    "levenshtein": "systems.levenshtein",
    "metrics": "metrics",
    "optim": "optim",
    "pretrained": "pretrained",
    "systems": "systems",
    "tasks": "tasks",
}


def __getattr__(name: str) -> Any:
    """``LevenshteinEditor`` and other parts of the Python interface, loaded when asked for."""
    if name in _PACKAGES:
        registration.register()
        return import_module(f".{_PACKAGES[name]}", __name__)
    if name in _LAZY:
        registration.register()
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
