"""The only place that works around fairseq, a file for each concept (:mod:`.patches` lists all).

``apply()`` is called once, before anything is registered. The names of :mod:`.patches` can be
imported from here.
"""

# ruff: noqa: F401, F403  (what others import from here)

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .reports import run_cli

if TYPE_CHECKING:
    from .patches import *


def __getattr__(name: str) -> Any:
    """Every name but :func:`run_cli`: these need torch, which the help of a command does not."""
    if not name.startswith("_"):
        try:
            return getattr(import_module(".patches", __name__), name)
        except AttributeError:
            pass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
