"""The only place that works around fairseq: modules that patch it when they are imported.

A file each: batches, checkpoints (how they are read and written), trust (what they may ask for),
paths (files that they and options name), contents (what they hold besides), trainings, gpu
(training on one), parallel (on several), attention, commands, imports, and reports of mistakes.
"""

from . import imports
from .reports import one_line_errors
from .reports import run_cli as run_cli


def apply(lean: bool = False) -> None:
    """Work around faults of fairseq in this process; ``lean``: as of :mod:`.imports`."""
    one_line_errors()
    imports.import_fairseq(lean)
    from . import (  # noqa: F401
        attention,
        batches,
        checkpoints,
        commands,
        contents,
        paths,
        trainings,
        trust,
    )

    if not imports.is_lean():  # else no trainer is here
        from . import gpu, parallel  # noqa: F401
