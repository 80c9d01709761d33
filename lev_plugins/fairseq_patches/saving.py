"""Checkpoints are on the disk whole or not at all, however a training ends, and of numbers."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any, BinaryIO

import torch

from ..errors import UserError
from ..io.patching import Stock, patches


@contextlib.contextmanager
def atomic_save(path: str) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` at the end, when all of it is on the disk.

    Until then, and if anything fails, what stood there stays. A link is replaced, not followed:
    what it names may be another checkpoint.

    Raises:
        UserError: the system refuses to write it.
    """
    written = f"{path}.tmp"
    try:
        with open(written, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(written, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.remove(written)
        failure = error if isinstance(error, OSError) else error.__context__  # torch's own error
        if isinstance(failure, OSError):
            raise UserError(f"checkpoint {path} is not written ({failure.strerror})") from error
        raise


def write_checkpoints_whole() -> None:
    """Let a training that is killed, a disk that is full, or NaN, cost no checkpoint.

    Faults: ``checkpoint_last.pt`` and ``checkpoint_best.pt`` are copied in place; a write that
    fails is tried again behind what it has written, and nobody can read what then takes the place
    of the last good file; so do parameters that are no numbers any more. Paths that are not of
    this machine pass to fairseq.
    """
    from fairseq import checkpoint_utils
    from fairseq.file_io import PathManager

    @patches(checkpoint_utils, "save_checkpoint")
    def save_checkpoint(stock: Stock, cfg: Any, trainer: Any, *more: Any, **named: Any) -> object:
        """fairseq's; a UserError, in every process, where there is nothing worth saving."""
        if not all(one.isfinite().all() for one in trainer.model.parameters()):
            raise UserError(
                f"after {trainer.get_num_updates()} updates parameters are no numbers any more "
                f"(NaN or infinite): nothing is saved, {cfg.save_dir} keeps its last checkpoint; "
                "lower --lr, or set --clip-norm"
            )
        return stock(cfg, trainer, *more, **named)

    @patches(checkpoint_utils, "torch_persistent_save")
    def torch_persistent_save(
        stock: Stock, obj: object, filename: str, async_write: bool = False
    ) -> None:
        """Save whatever torch can save under a name."""
        if async_write or not PathManager.supports_rename(filename):
            stock(obj, filename, async_write)
        else:
            with atomic_save(filename) as file:
                torch.save(obj, file)

    @patches(PathManager, "copy")
    def copy(stock: Stock, src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        """Copy a file; without ``overwrite`` as fairseq does."""
        if not (overwrite and all(map(PathManager.supports_rename, (src_path, dst_path)))):
            return bool(stock(src_path, dst_path, overwrite))
        with open(src_path, "rb") as whole, atomic_save(dst_path) as file:
            shutil.copyfileobj(whole, file, 1 << 20)
        return True
