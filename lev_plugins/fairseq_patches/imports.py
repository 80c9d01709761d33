"""How fairseq is imported: as much of it as is needed, without a word, and plug-ins once."""

import contextlib
import importlib
import importlib.util
import logging
import os
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from ..io.patching import Stock, patches

#: packages of fairseq's that import every file beside them when they are imported themselves
REGISTERING = (
    "scoring optim optim.lr_scheduler models models.huggingface criterions tasks "
    "model_parallel.criterions model_parallel.models"
).split()
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
_lean = False


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


def import_fairseq(lean: bool = False) -> None:
    """Import fairseq, unless it is here, without a word and without a trace on the root logger.

    Fault: all of its models, tasks and optimizers are imported, with them scipy and sklearn: more
    time than torch takes. ``lean``: only what statements name; the rest once a checkpoint asks.
    """
    global _lean
    for start in _DEPRECATED:
        warnings.filterwarnings("ignore", rf"\s*{start}")
    if "fairseq" in sys.modules:
        lean = False
    spec, listdir = importlib.util.find_spec("fairseq"), os.listdir
    home = ((spec and spec.submodule_search_locations) or [""])[0]
    folders = {os.path.join(home, *package.split(".")) for package in REGISTERING if lean}
    try:  # the packages above find no file beside them
        setattr(os, "listdir", lambda path=".": [] if path in folders else listdir(path))  # noqa: B010
        with untouched_root_logger():
            from fairseq import checkpoint_utils, options
    finally:
        os.listdir = listdir
    accept_imported_package()
    if _lean := lean:

        @patches(checkpoint_utils, "_upgrade_state_dict")
        def upgrade_state_dict(stock: Stock, state: Any) -> Any:
            from fairseq.models import ARCH_MODEL_REGISTRY
            from fairseq.tasks import TASK_REGISTRY

            for part, known in (("model", ARCH_MODEL_REGISTRY), ("task", TASK_REGISTRY)):
                asked = (state.get("cfg") or {}).get(part)
                if (getattr(asked, "_name", None) or getattr(asked, "arch", None)) not in known:
                    _import_rest()
            return stock(state)

        @patches(options, "get_parser")
        def get_parser(stock: Stock, *args: Any, **how: Any) -> Any:
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

    Fault: fairseq compares ``…/fairseq/../lev_plugins`` letter for letter with the imported
    package's path, and ends in ``not globally unique``. What it remembers it does not import again.
    """
    from fairseq import utils

    beside = os.path.join(os.path.dirname(utils.__file__), "..", __name__.partition(".")[0])
    importer = utils.import_user_module
    importer.memo = getattr(importer, "memo", set()) | {beside}
