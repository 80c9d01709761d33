"""Registers the package's components with fairseq."""

from lev_runtime.errors import require_extra

from . import fairseq_patches

_registered = False


def register() -> None:
    """Imports fairseq, works around its faults and registers every component; once.

    Raises:
        MissingExtra: torch or fairseq is not installed.
    """
    global _registered
    if _registered:
        return
    require_extra("train")
    fairseq_patches.apply()
    _registered = True
    from .fairseq_patches.imports import untouched_root_logger

    with untouched_root_logger():
        from . import metrics, optim, pretrained, systems, tasks  # noqa: F401
        from .fairseq_patches.training import PREPARATIONS
        from .nn import backends

    metrics.register_scorers()
    backends.configure()
    PREPARATIONS.append(backends.prepare_training)
