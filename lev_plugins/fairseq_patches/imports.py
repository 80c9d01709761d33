"""Imports fairseq without a word, and of its models no more than are needed."""

import contextlib
import importlib
import logging
import os
import pkgutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from ..io.patching import Stock, patches

#: packages of fairseq's that import every file beside them when they are imported themselves
REGISTERING = [
    f"fairseq.{name}"
    for name in "scoring optim optim.lr_scheduler models models.huggingface criterions tasks "
    "model_parallel.criterions model_parallel.models".split()
]
# of fairseq's own code: hydra, and torch at its import, while it trains and while it decodes
_DEPRECATED = (
    "hydra.experimental",
    "The version_base parameter",
    "In '.*': Usage of deprecated keyword",
    "'.*' is validated against ConfigStore schema",
    "The strict flag in the compose API",
    r"`torch\.(jit\.script|cuda\.amp\.\w+)",
    "'pin_memory' argument is set as true",
    "Support for mismatched key_padding_mask and attn_mask is deprecated",
)
_is_complete = True
_callbacks: list[Callable[[], None]] = []  # to be called once all of fairseq is imported


@contextlib.contextmanager
def untouched_root_logger() -> Iterator[None]:
    """Whatever is imported inside says nothing below WARNING and leaves the root logger alone."""
    root = logging.getLogger()
    level, handlers, threshold = root.level, list(root.handlers), root.manager.disable
    logging.disable(logging.INFO)
    try:
        yield
    finally:
        logging.disable(threshold)
        root.setLevel(level)
        root.handlers[:] = handlers


def import_fairseq() -> None:
    """Import fairseq without a word and without a trace on the root logger.

    Fault: all of its models, tasks and optimizers are imported, with them scipy and sklearn: more
    time than torch takes. Here only what statements name, the rest once a parser, a training or a
    checkpoint asks for it, unless somebody has imported fairseq before.
    """
    global _is_complete
    for start in _DEPRECATED:
        warnings.filterwarnings("ignore", rf"\s*{start}")
    _is_complete = "fairseq" in sys.modules
    if not _is_complete:
        with untouched_root_logger(), tempfile.TemporaryDirectory() as empty:
            _AloneLoader.folder = empty
            sys.meta_path.insert(0, _AloneFinder)
            try:
                importlib.import_module("fairseq.options")
            finally:
                sys.meta_path.remove(_AloneFinder)
        _complete_when_asked()
    accept_imported_package()


class _AloneLoader(SourceFileLoader):
    """Runs a package of :data:`REGISTERING`, which lists the folder of its ``__file__``."""

    folder = ""  # an empty one

    def exec_module(self, module: ModuleType) -> None:
        """Runs it as if no file lay beside it."""
        file = module.__file__
        module.__file__ = os.path.join(self.folder, "__init__.py")
        super().exec_module(module)
        module.__file__ = file


class _AloneFinder:
    """Finds the packages of :data:`REGISTERING`."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: object = None) -> Any:
        """See :class:`importlib.abc.MetaPathFinder`."""
        if name not in REGISTERING:
            return None
        spec = PathFinder.find_spec(name, path)
        if isinstance(spec, ModuleSpec) and spec.origin:
            spec.loader = _AloneLoader(name, spec.origin)
        return spec


def when_complete(callback: Callable[[], None]) -> None:
    """Calls it when all of fairseq is imported: now, or once the rest is asked for."""
    if _is_complete:
        callback()
    else:
        _callbacks.append(callback)


def _import_rest() -> None:
    global _is_complete
    if _is_complete:
        return
    _is_complete = True
    with untouched_root_logger():
        for package in REGISTERING:
            path = importlib.import_module(package).__path__
            for name in sorted(module.name for module in pkgutil.iter_modules(path)):
                if not name.startswith("_"):
                    importlib.import_module(f"{package}.{name}")
    for callback in _callbacks:
        callback()


def _complete_when_asked() -> None:
    from fairseq import checkpoint_utils, options
    from fairseq.dataclass import initialize
    from fairseq.models import ARCH_MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    def complete(stock: Stock, *args: Any, **named: Any) -> Any:
        _import_rest()
        return stock(*args, **named)

    for owner, name in (
        (options, "get_parser"),
        (initialize, "hydra_init"),
        (initialize, "add_defaults"),
    ):
        patches(owner, name)(complete)

    @patches(checkpoint_utils, "_upgrade_state_dict")
    def upgrade_state_dict(stock: Stock, state: Any) -> Any:
        cfg = state.get("cfg") or {}
        for section, registry in (("model", ARCH_MODEL_REGISTRY), ("task", TASK_REGISTRY)):
            settings = cfg.get(section)
            name = getattr(settings, "_name", None) or getattr(settings, "arch", None)
            if name not in registry:
                _import_rest()
        return stock(state)


def accept_imported_package() -> None:
    """Let ``--user-dir lev_plugins`` mean the installed package where that is imported already.

    Fault: fairseq compares ``…/fairseq/../lev_plugins`` letter for letter with the imported
    package's path, and ends in ``not globally unique``. What it remembers it does not import again.
    """
    from fairseq import utils

    beside = os.path.join(os.path.dirname(utils.__file__), "..", __name__.partition(".")[0])
    importer = utils.import_user_module
    importer.memo = getattr(importer, "memo", set()) | {beside}
