"""Faults: a checkpoint is written in place, so that a break leaves half of it under its name; a
write that fails is tried again behind what it has written.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import BinaryIO

import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from lev_runtime.io.output import atomic_replace

from ..io.patching import Stock, patches

_BLOCK = 1 << 20  # bytes that are copied at once


@contextlib.contextmanager
def atomic_save(path: str) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` when all of it is on the disk.

    A link is replaced, not followed.
    """
    with atomic_replace(path, f"{path}.tmp") as temporary, open(temporary, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@patches(checkpoint_utils, "torch_persistent_save")
def save(stock: Stock, obj: object, filename: str, async_write: bool = False) -> None:
    """Writes a checkpoint."""
    with atomic_save(filename) as file:
        torch.save(obj, file)


@patches(PathManager, "copy")
def copy(stock: Stock, src_path: str, dst_path: str, overwrite: bool = False) -> bool:
    """Writes ``checkpoint_last.pt`` and ``checkpoint_best.pt``, all that fairseq copies."""
    with open(src_path, "rb") as source, atomic_save(dst_path) as file:
        shutil.copyfileobj(source, file, _BLOCK)
    return True
