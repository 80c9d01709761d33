"""Correcting text of any shape with a model that reads units of it.

A line is cut into units (:mod:`.units`), a backend rewrites each (:mod:`.propose.backend`), what it
changed becomes edits of the line with probabilities (:mod:`.lines`), and those that are sure
enough and touch nothing protected (:mod:`.protection`) are made (:mod:`.corrector`).

>>> from lev_correct import Corrector
>>> [line] = Corrector.from_pretrained().correct(["Teh end."])
>>> line.text, line.edits[0].before, line.edits[0].probability > 0.5
('The end.', 'Teh', True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # loaded when asked for: what a command prints needs no model
    from .corrector import Correction as Correction
    from .corrector import Corrector as Corrector
    from .corrector import Edit as Edit

__all__ = ["Correction", "Corrector", "Edit"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".corrector", __name__), name)
