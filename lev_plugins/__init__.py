"""Models that edit text, as plug-ins for fairseq (``--user-dir lev_plugins``).

Its components are registered, and faults of fairseq worked around, once fairseq is imported, before
or after this package. Nothing is printed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lev_runtime.errors import UserError  # noqa: F401
from lev_runtime.extras import require_extra

from . import fairseq_patches, registration  # noqa: F401

registration.register_when_needed()

if TYPE_CHECKING:  # loaded when asked for, which no type checker follows
    from lev_correct import Correction, Corrector, Edit  # noqa: F401
    from lev_runtime.history import EditTrace, Iteration  # noqa: F401

    from .inference.editor import LevenshteinEditor  # noqa: F401
    from .inference.enct5 import EncT5, Prediction  # noqa: F401

__version__ = "0.7.0"
#: parts of the Python interface: where they are
_HOMES = {
    **dict.fromkeys(("Correction", "Corrector", "Edit"), "corrector"),
    **dict.fromkeys(("EditTrace", "Iteration"), "systems.levenshtein.decoding.history"),
    **dict.fromkeys(("EncT5", "Prediction"), "inference.enct5"),
    "LevenshteinEditor": "inference.editor",
}
__all__ = sorted([*_HOMES, "UserError"])


def __getattr__(name: str) -> Any:
    """``LevenshteinEditor`` and other parts of the Python interface, loaded when asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOMES[name] != "corrector":
        require_extra("train", what=name)
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
