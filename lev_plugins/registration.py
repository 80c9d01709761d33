"""What this package registers with fairseq, and when: once fairseq is needed."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from lev_runtime.extras import require_extra

from . import fairseq_patches

#: parts of the package that are imported without fairseq
_LIGHT = tuple(
    f"{part}."
    for part in "__main__ cli corrector data.noise data.source_change errors export "
    "html io metrics options ops registration reports serve".split()
)
_PACKAGE = (__package__ or "").partition(".")[0]
_registered = False


class _Registering:
    """Loads fairseq, or a part of the package that needs it: registers before it does."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)  # what tools ask a loader for

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, which registering has imported, or what is imported now."""
        register()
        module = import_module(spec.name)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run; importlib has put its own mark on it."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


class _Finder:
    """Finds what :class:`_Registering` loads."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See :class:`importlib.abc.MetaPathFinder`."""
        package, _, rest = name.partition(".")
        light = rest == "data" or f"{rest}.".startswith(_LIGHT)
        own = package == _PACKAGE and not light
        spec = PathFinder.find_spec(name, path) if own or name == "fairseq" else None
        if spec and spec.loader:
            spec.loader = _Registering(spec.loader)  # type: ignore[assignment]
        return spec


def register_when_needed() -> None:
    """Registers now where fairseq is imported already, else before it is."""
    if sys.modules.get("fairseq"):
        register()
    elif not _registered:
        sys.meta_path.insert(0, _Finder)


def register() -> None:
    """Register every component, once; raises :class:`MissingExtra` without torch or fairseq."""
    global _registered
    if _registered:
        return
    require_extra("train")
    _registered = True
    if _Finder in sys.meta_path:
        sys.meta_path.remove(_Finder)
    from .fairseq_patches.imports import untouched_root_logger, when_complete

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
    from .fairseq_patches.imports import untouched_root_logger
    from .nn import backends

    with untouched_root_logger():
        from . import optim  # noqa: F401

        metrics.register_scorers()
    PREPARATIONS.append(backends.prepare_training)
