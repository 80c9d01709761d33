"""Correcting text of any shape with a model that reads units of it.

A line is cut into units (:mod:`.units`), a backend writes each anew (:mod:`.backends`), what it
changed becomes edits of the line with probabilities (:mod:`.edits`), and those that are sure
enough and touch nothing protected (:mod:`.protection`) are made (:mod:`.corrector`).
"""

from .corrector import Correction, Corrector, Edit

__all__ = ["Correction", "Corrector", "Edit"]
