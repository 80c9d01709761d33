"""How fairseq is imported: as much of it as is needed, and plug-ins once."""

import importlib
import importlib.util
import os
import pkgutil
import sys
from typing import Any

from ..io.patching import Stock, patches
from .logs import untouched_root_logger

#: packages of fairseq's that import every file beside them when they are imported themselves
REGISTERING = (
    "scoring optim optim.lr_scheduler models models.huggingface criterions tasks "
    "model_parallel.criterions model_parallel.models"
).split()
_lean = False


def import_fairseq(lean: bool = False) -> None:
    """Import fairseq, unless it is here, without a word and without a trace on the root logger.

    Fault: all of its 200 models, tasks, criterions and optimizers are imported, with them scipy,
    sklearn and readers of sound: more time than torch takes.

    Args:
        lean: import only what statements name; the rest once a checkpoint asks for it, or all
            names are listed.
    """
    global _lean
    if "fairseq" in sys.modules:
        return
    spec, listdir = importlib.util.find_spec("fairseq"), os.listdir
    home = ((spec and spec.submodule_search_locations) or [""])[0]
    folders = {os.path.join(home, *package.split(".")) for package in REGISTERING if lean}
    try:  # the packages above find no file beside them
        setattr(os, "listdir", lambda path=".": [] if path in folders else listdir(path))  # noqa: B010
        with untouched_root_logger():
            from fairseq import checkpoint_utils, options
    finally:
        os.listdir = listdir
    _lean = lean
    if lean:

        @patches(checkpoint_utils, "_upgrade_state_dict")
        def upgrade_state_dict(stock: Stock, state: Any) -> Any:
            """fairseq's, with the checkpoint's task and model registered."""
            from fairseq.models import ARCH_MODEL_REGISTRY
            from fairseq.tasks import TASK_REGISTRY

            for part, known in (("model", ARCH_MODEL_REGISTRY), ("task", TASK_REGISTRY)):
                asked = (state.get("cfg") or {}).get(part)
                name = getattr(asked, "_name", None) or getattr(asked, "arch", None)
                if name not in known:
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


def accept_imported_package() -> None:
    """Let ``--user-dir lev_plugins`` mean the installed package where that is imported already.

    Fault: fairseq compares the path beside its own package, ``…/fairseq/../lev_plugins``, letter
    for letter with the imported package's, and ends in ``not globally unique`` (processes that are
    spawned, programs that import both). A path that it remembers it does not import again.
    """
    from fairseq import utils

    beside = os.path.join(os.path.dirname(utils.__file__), "..", __name__.partition(".")[0])
    importer = utils.import_user_module
    importer.memo = getattr(importer, "memo", set()) | {beside}
