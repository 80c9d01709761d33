"""How much of fairseq is imported: all that it registers, or what a command of ours needs."""

import contextlib
import importlib
import importlib.util
import os
import pkgutil
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from ..io.patching import Stock, patches
from .logs import untouched_root_logger

#: packages of fairseq's that import every file beside them when they are imported themselves
REGISTERING = (
    "scoring",
    "optim",
    "optim.lr_scheduler",
    "models",
    "models.huggingface",
    "criterions",
    "tasks",
    "model_parallel.criterions",
    "model_parallel.models",
)
_lean = False


@contextlib.contextmanager
def only_what_is_named() -> Iterator[None]:
    """Inside, the packages of :data:`REGISTERING` import nothing but what a statement names.

    They find their files by ``os.listdir``, which shows them an empty folder here.
    """
    folders, stock = _folders(), os.listdir

    def listdir(path: Any = ".") -> list[Any]:
        """Nothing, of a folder whose files would be imported."""
        return [] if path in folders else stock(path)

    os.listdir = listdir
    try:
        yield
    finally:
        os.listdir = stock


def _folders() -> set[str]:
    spec = importlib.util.find_spec("fairseq")
    home = (spec.submodule_search_locations if spec else None) or [""]
    return {os.path.join(home[0], *package.split(".")) for package in REGISTERING}


def import_fairseq(lean: bool = False) -> None:
    """Import fairseq without a word and without a trace on the root logger.

    Faults: somewhere below ``import fairseq``, ``logging.basicConfig(level=DEBUG)`` puts a handler
    on the root logger, and a line about tensorboardX is printed through it. A program that sets
    up its own logging later finds that done already. And each of fairseq's 200 models, tasks,
    criterions and optimizers is imported, with them scipy, sklearn and readers of sound: more CPU
    time than torch itself takes. Where fairseq is here already, this changes nothing: the handlers
    may be the program's own.

    Args:
        lean: import only what statements name; :func:`import_rest` does the rest once a name is
            asked for that may be among it.
    """
    global _lean
    if "fairseq" in sys.modules:
        return
    with untouched_root_logger(), only_what_is_named() if lean else contextlib.nullcontext():
        import fairseq  # noqa: F401
    if lean:
        _lean = True
        _import_rest_when_asked()


def is_lean() -> bool:
    """Whether fairseq is here and its rest is not."""
    return _lean


def import_rest() -> None:
    """Import what :func:`import_fairseq` has left out; a second call does nothing."""
    global _lean
    if not _lean:
        return
    _lean = False
    with untouched_root_logger():
        for package in REGISTERING:
            path = importlib.import_module(f"fairseq.{package}").__path__
            for module in sorted(pkgutil.iter_modules(path), key=lambda found: found.name):
                if not module.name.startswith("_"):
                    importlib.import_module(f"fairseq.{package}.{module.name}")


def _import_rest_when_asked() -> None:
    """Import the rest before a checkpoint of it is used, and before all names are listed."""
    from fairseq import checkpoint_utils, options

    @patches(checkpoint_utils, "_upgrade_state_dict")
    def upgrade_state_dict(stock: Stock, state: Any) -> Any:
        """fairseq's, with the checkpoint's task and model registered."""
        if not _is_registered(state):
            import_rest()
        return stock(state)

    @patches(options, "get_parser")
    def parser(stock: Stock, *args: Any, **how: Any) -> Any:
        """fairseq's, of all names."""
        import_rest()
        return stock(*args, **how)


def _is_registered(state: Any) -> bool:
    """Whether a checkpoint asks for nothing that may be missing."""
    from fairseq.models import ARCH_MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    cfg = state.get("cfg") if isinstance(state, dict) else None
    if not cfg:  # of an older fairseq, or damaged
        return False
    try:
        model, task = (_name(cfg[part]) for part in ("model", "task"))
    except (KeyError, TypeError, AttributeError):
        return False
    return model in ARCH_MODEL_REGISTRY and task in TASK_REGISTRY


def _name(cfg: Any) -> Any:
    """Of a model or a task: of its configuration, or of the options that a stock model keeps."""
    return getattr(cfg, "_name", None) or cfg.arch if isinstance(cfg, Namespace) else cfg["_name"]
