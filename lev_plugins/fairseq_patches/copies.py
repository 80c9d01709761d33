"""Tasks and settings that can be copied, and sent to another process."""

import copyreg
from collections.abc import Callable
from typing import Any

from ..io.patching import Stock, patches


def allow_copies() -> None:
    """Let ``copy`` and ``pickle`` copy a task, and a model with its settings.

    Faults: ``StatefulContainer.__getattr__`` looks for names in an attribute of its own, which a
    copy does not have yet when it is asked whether it has ``__setstate__``: a RecursionError. And
    the classes of settings that are one of several names are all called ``Choices`` and stand
    nowhere, so that pickle does not find them.
    """
    from fairseq.dataclass.constants import ChoiceEnum, StrEnumMeta
    from fairseq.tasks.fairseq_task import StatefulContainer

    @patches(StatefulContainer, "__getattr__")
    def getattr_of_state(stock: Stock, self: StatefulContainer, name: str) -> object:
        """fairseq's, where there is a state to look into."""
        if "_state" not in vars(self):
            raise AttributeError(name)
        return stock(self, name)

    def names_of(kind: StrEnumMeta) -> str | tuple[Callable[..., Any], tuple[Any, ...]]:
        """How pickle makes such a class again; one that stands in a module it finds there."""
        unnamed = kind.__name__ == "Choices"
        return (ChoiceEnum, (list(kind.__members__),)) if unnamed else kind.__qualname__

    copyreg.pickle(StrEnumMeta, names_of)
