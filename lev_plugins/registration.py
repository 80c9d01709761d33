"""Registers the package's components with fairseq."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from lev_runtime.errors import require_extra

from . import fairseq_patches

_registered = False


class RegisterAfterFairseq(MetaPathFinder):
    """Registers the components as soon as a program has imported fairseq."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Finds fairseq by the other finders, and registers after its import."""
        if name != "fairseq":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


_after_fairseq = RegisterAfterFairseq()


def await_fairseq() -> None:
    """Registers the components once fairseq is imported: now if it is already."""
    if sys.modules.get("fairseq"):
        register()
    elif _after_fairseq not in sys.meta_path:
        sys.meta_path.insert(0, _after_fairseq)


def register() -> None:
    """Imports fairseq, works around its faults and registers every component; once.

    Raises:
        MissingExtra: torch or fairseq is not installed.
    """
    global _registered
    if _registered:
        return
    require_extra("train")
    if _after_fairseq in sys.meta_path:  # fairseq is imported here
        sys.meta_path.remove(_after_fairseq)
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
