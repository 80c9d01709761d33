"""One line that says what to install, where an extra of pyproject.toml is missing."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from .errors import UserError

#: extra → modules that all of it needs
_NEEDED = {"train": ("fairseq", "torch"), "export": ("onnx",), "serve": ("fastapi", "uvicorn")}
#: what it brings besides: some of it works without
_BROUGHT = {
    **dict.fromkeys("hydra omegaconf sacrebleu scipy sklearn yaml".split(), "train"),
    **dict.fromkeys(("pydantic", "starlette"), "serve"),
}


class MissingExtra(UserError, ImportError):
    """Modules that an extra brings are not installed."""


def require_extra(*extras: str, what: str = "", modules: Sequence[str] = ()) -> None:
    """Raises :class:`MissingExtra` where a module of one of the extras is missing.

    Args:
        what: needs them (default: the running program). modules: of the extra (default: those that
            all of it needs).
    """
    needed = modules or [name for extra in extras for name in _NEEDED[extra]]
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        program = os.path.basename(sys.argv[0])
        what = what or ("this" if program in ("", "-c", "__main__.py") else program)
        raise MissingExtra(
            f"{what} needs {' and '.join(missing)}: pip install '.[{','.join(extras)}]' in a clone "
            "of lev_plugins (README.md, Install)"
        )


def require_module(name: str) -> None:
    """Raises :class:`MissingExtra` where an extra brings a module that could not be imported."""
    module = name.partition(".")[0]
    for extra, needed in _NEEDED.items():
        if module in needed:
            require_extra(extra)
    if module in _BROUGHT:
        require_extra(_BROUGHT[module], modules=[module])
