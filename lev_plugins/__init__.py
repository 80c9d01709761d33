"""Models that edit text, as plug-ins for fairseq (``--user-dir lev_plugins``).

Once fairseq is imported too, before or after this package, its components are registered and faults
of fairseq are worked around. :func:`.registration.register` imports fairseq for that, which the
Python interface calls by itself. Nothing is printed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lev_runtime import __version__ as __version__
from lev_runtime.errors import UserError as UserError
from lev_runtime.errors import require_extra

from .registration import await_fairseq
from .registration import register as register

await_fairseq()

if TYPE_CHECKING:  # loaded when asked for, which no type checker follows
    from lev_runtime.history import EditTrace as EditTrace
    from lev_runtime.history import Iteration as Iteration

    from .inference.editor import LevenshteinEditor as LevenshteinEditor
    from .inference.enct5 import EncT5 as EncT5
    from .inference.enct5 import Prediction as Prediction

#: parts of the Python interface: where they are
_HOMES = {
    **dict.fromkeys(("EditTrace", "Iteration"), "lev_runtime.history"),
    **dict.fromkeys(("EncT5", "Prediction"), "lev_plugins.inference.enct5"),
    "LevenshteinEditor": "lev_plugins.inference.editor",
}
__all__ = sorted([*_HOMES, "UserError", "register"])


def __getattr__(name: str) -> Any:
    """Imports a part of the Python interface when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if home.startswith("lev_plugins."):
        require_extra("train", what=name)
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
