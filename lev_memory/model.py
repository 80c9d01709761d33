"""The model of a project that train and evaluate have made."""

import math
from dataclasses import dataclass
from pathlib import Path

from lev_runtime.refine.editor import Editor

from .formats.files import read_lines, stored_pairs
from .formats.units import Document
from .memory import Memory
from .proposals import Settings, load, settings_of

FOREIGN = 2  # times as many unknown pairs of words as on the validation part tell another project


@dataclass
class Model:
    """A model, and which project it has learnt.

    Attributes:
        learnt: the memory that it was trained on.
        usual: :meth:`memory.Memory.unknown` of sources like those.
    """

    editor: Editor
    settings: Settings
    learnt: Memory
    usual: float = math.inf

    @classmethod
    def load(cls, work: Path) -> "Model":
        """Loads the model of a WORK.

        Raises:
            UserError: it has none, or no settings.
        """
        settings, editor = settings_of(work), load(work)
        learnt = Memory(stored_pairs(work))
        usual = learnt.unknown(source for (source,) in read_lines(work / "text/valid.new"))
        return cls(editor, settings, learnt, usual)

    def has_learnt(self, document: Document) -> bool:
        """Returns whether a file is of a project like the one that it has learnt."""
        unknown = self.learnt.unknown(unit.source for unit in document.units)
        return unknown <= FOREIGN * self.usual
