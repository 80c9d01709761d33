"""Imports fairseq silently, and ends its commands in one line after a user's mistake."""

import argparse
import contextlib
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from types import TracebackType

from lev_runtime.errors import UserError
from lev_runtime.io.commands import INTERRUPTED, discard_stdout, print_error
from lev_runtime.io.options import typing_error

from ..io.patching import Stock, patches
from ..io.program import running_command

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

#: what says the same for each file and each epoch, so that the first progress is a screen away
_TALKATIVE = ("fairseq.tasks.fairseq_task", "fairseq.data.data_utils", "fairseq.data.iterators")


def one_line_errors() -> None:
    """Shows a user's mistake in a fairseq command as ``error: …``, and all else as before.

    Ctrl-C ends it with status 130, without a traceback. What hydra notes for debugging is hidden,
    and what fairseq says many times, unless LOGLEVEL asks for it.
    """
    if running_command() is None:
        return
    # fault: importing its wav2vec2_classification sets the root logger to DEBUG
    logging.getLogger().setLevel(os.environ.get("LOGLEVEL", "INFO").upper())
    for name in () if "LOGLEVEL" in os.environ else _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # it prints and exits by itself unless told to raise

    @patches(argparse.ArgumentParser, "error")
    def tell(stock: Stock, self: argparse.ArgumentParser, message: str) -> None:
        self.exit(2, f"error: {typing_error(message, self._option_string_actions)}\n")

    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise SystemExit(INTERRUPTED)
        if type(error) is RuntimeError and not error.args:  # all that fairseq's parser says
            error = UserError("--arch is missing; the architectures are in user_dir.md")
        if isinstance(error, BrokenPipeError):
            discard_stdout()
        elif not print_error(error):
            previous(kind, error, trace)

    sys.excepthook = hook


@contextlib.contextmanager
def untouched_root_logger() -> Iterator[None]:
    """Keeps imports inside from logging below WARNING and from changing the root logger."""
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
    """Imports fairseq without its warnings."""
    for start in _DEPRECATED:
        warnings.filterwarnings("ignore", rf"\s*{start}")
    with untouched_root_logger():
        importlib.import_module("fairseq.options")
    accept_imported_package()


def accept_imported_package() -> None:
    """Lets ``--user-dir lev_plugins`` mean the installed package if that is imported already.

    Fault: fairseq compares ``…/fairseq/../lev_plugins`` letter for letter with the imported
    package's path, and ends in ``not globally unique``. What it remembers it does not import again.
    """
    from fairseq import utils

    beside = os.path.join(os.path.dirname(utils.__file__), "..", __name__.partition(".")[0])
    importer = utils.import_user_module
    importer.memo = getattr(importer, "memo", set()) | {beside}
