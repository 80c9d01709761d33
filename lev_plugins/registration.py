"""What this package registers with fairseq."""

from . import fairseq_patches
from .fairseq_patches.imports import untouched_root_logger, when_complete

_registered = False


def register() -> None:
    """Register every component, once."""
    global _registered
    if _registered:
        return
    _registered = True
    fairseq_patches.apply()
    with untouched_root_logger():
        from . import pretrained, systems, tasks  # noqa: F401
        from .nn import backends

    backends.configure()
    when_complete(_register_for_trainings)


def _register_for_trainings() -> None:
    """What nobody needs who decodes: optimizers, scorers, how models are trained on a device."""
    from . import metrics
    from .fairseq_patches.beginning import PREPARATIONS
    from .nn import backends

    with untouched_root_logger():
        from . import optim  # noqa: F401

        metrics.register_scorers()
    PREPARATIONS.append(backends.prepare_training)
