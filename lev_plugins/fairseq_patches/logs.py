"""What importing fairseq does to the root logger, and warnings that are not for users."""

import contextlib
import logging
import os
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
#: torch 2.15 says the first while fairseq is imported, 2.13 the others while it trains
_TORCH_SAYS = r"`torch\.(jit\.script|cuda\.amp\.\w+)", "'pin_memory' argument is set as true"
_MASKS = "Support for mismatched key_padding_mask and attn_mask is deprecated"


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


def quiet_commands() -> None:
    """Lets a fairseq command log from INFO on (or ``LOGLEVEL``) and give no advice on hydra.

    Faults: in the commands that import fairseq before they set up logging (generate, interactive,
    validate …) the root logger stays at DEBUG. And each command starts with some twenty lines of
    warnings about interfaces that hydra has deprecated.
    """
    if running_command() is None:
        return
    root = logging.getLogger()
    if root.level == logging.DEBUG:
        root.setLevel(os.environ.get("LOGLEVEL", "INFO").upper())
    for start in HYDRA_SAYS:
        warnings.filterwarnings("ignore", rf"\s*{start}", UserWarning)


def filter_torch_warnings() -> None:
    """Says nothing of what torch warns of in fairseq's own code.

    Fault: fairseq decorates functions by ``torch.jit.script``, trains below
    ``torch.cuda.amp.autocast`` and pins memory where there is no GPU. What its commands import
    before ``--user-dir`` is not reached.
    """
    for start in _TORCH_SAYS:
        warnings.filterwarnings("ignore", start)


def filter_mask_warning() -> None:
    """Says nothing of the masks of fairseq's Transformer; for what runs one on whole sentences.

    Fault: its attention gets a mask of padding that is boolean and one of the future that is not,
    of which torch warns. The filter holds for the whole process: one that is put aside afterwards
    is not safe among threads.
    """
    warnings.filterwarnings("ignore", _MASKS, UserWarning)
