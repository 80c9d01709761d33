"""Lists that were made of files, kept in the user's cache for later runs."""

import json
import os
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from lev_runtime.errors import UserError

from .prepared import Arrays, read_arrays, write_arrays

#: of what is kept; another one is made anew
_FORM = 1
_STATE = "state"


def user_cache() -> Path:
    """Where this package keeps what can be made again."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches, "lev_plugins")


def kept_arrays(
    name: str, sources: Sequence[str], names: Sequence[str], make: Callable[[], Arrays]
) -> Arrays:
    """Arrays that are made of files: those of an earlier run, unless a file has changed since.

    What cannot be read or written in the user's cache costs nothing but time.

    Args:
        name: of the list. sources: the files' paths. names: of the arrays that ``make`` returns.

    Raises:
        UserError: what ``make`` raises.
    """
    if not all(map(os.path.isfile, sources)):  # a pipe is read once
        return make()
    paths = list(map(os.path.abspath, sources))
    place = zlib.crc32(json.dumps(paths).encode())
    try:
        file = user_cache() / f"{name}-{place:08x}.npz"
    except RuntimeError:  # the user has no home
        return make()
    state = _state(paths)
    with suppress(UserError):
        kept = read_arrays(str(file), (_STATE, *names))
        if kept and kept[_STATE].tobytes() == state:
            return kept
    arrays = make()
    with suppress(UserError, OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        stored = {_STATE: np.frombuffer(state, dtype=np.uint8), **arrays}
        write_arrays(str(file), stored, compress=False)
    return arrays


def _state(paths: Sequence[str]) -> bytes:
    """What tells whether files are as they were."""
    described = []
    for path in paths:
        status = os.stat(path)
        described.append((path, status.st_size, status.st_mtime_ns))
    return json.dumps([_FORM, described]).encode()
