"""What this package registers with fairseq."""

from . import fairseq_patches
from .fairseq_patches.imports import is_lean, untouched_root_logger

_registered = False


def register(lean: bool = False) -> None:
    """Register every component, once; ``lean``: import of fairseq only what is needed."""
    global _registered
    if _registered:
        return
    _registered = True
    fairseq_patches.apply(lean)
    with untouched_root_logger():
        from . import metrics, pretrained, systems, tasks  # noqa: F401

        if not is_lean():  # else no scorer and no optimizer will be asked for
            metrics.register_scorers()
            from . import optim  # noqa: F401
