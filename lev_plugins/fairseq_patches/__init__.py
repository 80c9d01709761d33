"""The only place that works around fairseq: modules that patch it when they are imported.

A file each: batches, checkpoints (how they are read and written), trust (what they may ask for),
contents (what they hold besides), trainings, commands, imports, and reports of mistakes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import imports
from .reports import explain, one_line_errors, run_cli  # noqa: F401

if TYPE_CHECKING:
    from .checkpoints import atomic_save, read_checkpoint, wrap_checkpoint_errors  # noqa: F401
    from .contents import WORDS_LEARNT, difference  # noqa: F401
    from .trust import Origin, origin, settings_of  # noqa: F401

_NAMES = {
    **dict.fromkeys(("atomic_save", "read_checkpoint", "wrap_checkpoint_errors"), "checkpoints"),
    **dict.fromkeys(("WORDS_LEARNT", "difference"), "contents"),
    **dict.fromkeys(("Origin", "origin", "settings_of"), "trust"),
}


def __getattr__(name: str) -> Any:
    """What others import from here and needs torch, which the help of a command does not."""
    if name not in _NAMES:
        raise AttributeError(name)
    return getattr(import_module(f".{_NAMES[name]}", __name__), name)


def apply(lean: bool = False) -> None:
    """Work around faults of fairseq in this process; ``lean``: as of :mod:`.imports`."""
    one_line_errors()
    imports.import_fairseq(lean)
    from . import batches, checkpoints, commands, contents, trainings, trust  # noqa: F401
