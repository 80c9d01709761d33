"""What importing fairseq does to the root logger, and warnings that are not for users."""

import contextlib
import logging
import os
import re
import warnings
from collections.abc import Iterator

from ..io.program import running_command

HYDRA_SAYS = (
    "hydra.experimental",
    "The version_base parameter",
    "In '.*': Usage of deprecated keyword",
    "'.*' is validated against ConfigStore schema",
    "The strict flag in the compose API",
)
# as warnings.filterwarnings keeps it
_MASKS = re.compile("Support for mismatched key_padding_mask and attn_mask is deprecated", re.I)


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


def restore_log_level() -> None:
    """Let a fairseq command log from INFO on, as it means to.

    Fault: in the commands that import fairseq before they set up logging (generate, interactive,
    validate …) the root logger stays at DEBUG, so every library's debug lines are shown. Their
    own INFO lines stay, and so does a level asked for by ``LOGLEVEL``.
    """
    root = logging.getLogger()
    if running_command() is not None and root.level == logging.DEBUG:
        root.setLevel(os.environ.get("LOGLEVEL", "INFO").upper())


def filter_hydra_warnings() -> None:
    """Keep a fairseq command's output free of advice to fairseq's programmers.

    Fault: reading the command line goes through interfaces that hydra has deprecated, and each
    command starts with some twenty lines of warnings about them, before any line of its own.
    """
    if running_command() is not None:
        for start in HYDRA_SAYS:
            warnings.filterwarnings("ignore", rf"\s*{start}", UserWarning)


def filter_mask_warning() -> None:
    """Say nothing of the masks of fairseq's Transformer; for what runs one on whole sentences.

    Fault: its attention gets a mask of padding that is boolean and one of the future that is not,
    of which torch warns. The filter holds for the whole process: one that is put aside afterwards
    is not safe among threads.
    """
    if ("ignore", _MASKS, UserWarning, None, 0) not in warnings.filters:
        warnings.filterwarnings("ignore", _MASKS.pattern, UserWarning)
