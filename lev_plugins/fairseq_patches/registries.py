"""How much of fairseq is imported: all that it registers, or what a command of ours needs."""

import contextlib
import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

from ..io.patching import Stock, patches
from .logs import untouched_root_logger

#: packages of fairseq's that import every file beside them when they are imported themselves
REGISTERING = (
    "scoring optim optim.lr_scheduler models models.huggingface criterions tasks "
    "model_parallel.criterions model_parallel.models"
).split()
_lean = False


@contextlib.contextmanager
def _only_what_is_named() -> Iterator[None]:
    """Inside, the packages above find no file beside them: ``os.listdir`` shows none."""
    spec, stock = importlib.util.find_spec("fairseq"), os.listdir
    home = ((spec and spec.submodule_search_locations) or [""])[0]
    folders = {os.path.join(home, *package.split(".")) for package in REGISTERING}
    setattr(os, "listdir", lambda path=".": [] if path in folders else stock(path))  # noqa: B010
    try:
        yield
    finally:
        os.listdir = stock


def import_fairseq(lean: bool = False) -> None:
    """Import fairseq without a word and without a trace on the root logger.

    Fault: each of fairseq's 200 models, tasks, criterions and optimizers is imported, with them
    scipy, sklearn and readers of sound: more time than torch takes. Where fairseq is here already,
    this changes nothing.

    Args:
        lean: import only what statements name; the rest once a checkpoint asks for it, or all
            names are listed.
    """
    global _lean
    if "fairseq" in sys.modules:
        return
    with untouched_root_logger(), _only_what_is_named() if lean else contextlib.nullcontext():
        from fairseq import checkpoint_utils, options
    _lean = lean
    if lean:

        @patches(checkpoint_utils, "_upgrade_state_dict")
        def upgrade_state_dict(stock: Stock, state: Any) -> Any:
            """fairseq's, with the checkpoint's task and model registered."""
            from fairseq.models import ARCH_MODEL_REGISTRY
            from fairseq.tasks import TASK_REGISTRY

            cfg = state.get("cfg") or {}
            for part, known in (("model", ARCH_MODEL_REGISTRY), ("task", TASK_REGISTRY)):
                name = [getattr(cfg.get(part), one, None) for one in ("_name", "arch")]
                if (name[0] or name[1]) not in known:
                    _import_rest()
            return stock(state)

        @patches(options, "get_parser")
        def get_parser(stock: Stock, *args: Any, **how: Any) -> Any:
            """fairseq's, of all names."""
            _import_rest()
            return stock(*args, **how)


def is_lean() -> bool:
    """Whether fairseq is here and its rest is not."""
    return _lean


def _import_rest() -> None:
    global _lean
    if _lean:
        _lean = False
        with untouched_root_logger():
            for package in REGISTERING:
                path = importlib.import_module(f"fairseq.{package}").__path__
                for name in sorted(found.name for found in pkgutil.iter_modules(path)):
                    if not name.startswith("_"):
                        importlib.import_module(f"fairseq.{package}.{name}")
