"""Imports fairseq without a word."""

import contextlib
import importlib
import logging
import os
import warnings
from collections.abc import Iterator

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
    """Import fairseq without a word and without a trace on the root logger."""
    for start in _DEPRECATED:
        warnings.filterwarnings("ignore", rf"\s*{start}")
    with untouched_root_logger():
        importlib.import_module("fairseq.options")
    accept_imported_package()


def accept_imported_package() -> None:
    """Let ``--user-dir lev_plugins`` mean the installed package where that is imported already.

    Fault: fairseq compares ``…/fairseq/../lev_plugins`` letter for letter with the imported
    package's path, and ends in ``not globally unique``. What it remembers it does not import again.
    """
    from fairseq import utils

    beside = os.path.join(os.path.dirname(utils.__file__), "..", __name__.partition(".")[0])
    importer = utils.import_user_module
    importer.memo = getattr(importer, "memo", set()) | {beside}
