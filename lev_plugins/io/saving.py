"""Checkpoints are on the disk whole or not at all, however a training ends."""

import contextlib
import errno
import functools
import os
import shutil
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..errors import UserError, counted
from .archives import check_archive
from .finite import REMEDY, non_finite
from .output import replacing
from .patching import Stock, patches

if TYPE_CHECKING:
    from omegaconf import DictConfig

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # the disk, the user's share of it, one file
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EISDIR}
_PAUSES = (2.5, 2.5)  # seconds between the tries, as fairseq has them
_LAST = "checkpoint_last.pt"
#: what a folder stands for, the first of them that is there
CHECKPOINTS = ("checkpoint_best.pt", _LAST, "model.pt")


def checkpoint_in(folder: str) -> str | None:
    """The checkpoint that a folder stands for, None without one."""
    found = (os.path.join(folder, name) for name in CHECKPOINTS)
    return next(filter(os.path.isfile, found), None)


@contextlib.contextmanager
def atomic_save(path: str) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` at the end, when all of it is on the disk.

    Until then, and if anything fails, what stood there stays. A link is replaced, not followed:
    what it names may be another checkpoint.
    """
    file = open(f"{path}.tmp", "wb")
    with replacing(file, path, durable=True):
        yield file
    _sync_folder(path)


def _sync_folder(path: str) -> None:
    """A new name outlives a loss of power once its folder is on the disk; not all can do that."""
    with contextlib.suppress(OSError):
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_failure(error: BaseException) -> OSError | None:
    """What the system said: where a write fails, torch may raise an error of its own over it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _write(path: str, fill: Callable[[BinaryIO], object]) -> None:
    """Write a checkpoint; where the system refuses, once more from its beginning.

    Raises:
        UserError: it cannot be written; what stood there is as it was.
    """
    for pause in (*_PAUSES, None):
        try:
            with atomic_save(path) as file:
                fill(file)
            return
        except Exception as error:
            failure = write_failure(error)
            if failure is None:
                raise
            if pause is None or failure.errno in _FULL | _CLOSED:  # another try changes nothing
                raise UserError(_not_written(path, failure)) from error
        time.sleep(pause)


def _not_written(path: str, failure: OSError) -> str:
    way = "free some space" if failure.errno in _FULL else "check the folder"
    last = os.path.join(os.path.dirname(path), _LAST)
    kept = f"; the training so far is in {last}" if os.path.isfile(last) else ""
    return (
        f"checkpoint {path} is not written ({failure.strerror}); {way}, or give another "
        f"--save-dir{kept}"
    )


def _copy(source: str, path: str) -> None:
    def fill(file: BinaryIO) -> None:
        with open(source, "rb") as whole:
            shutil.copyfileobj(whole, file, 1 << 20)

    _write(path, fill)


def _updates(path: Path) -> int | None:
    """The updates of a training that can be resumed from here; ``None`` where it cannot."""
    import torch

    try:
        check_archive(path)
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                return None
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        if "train_iterator" not in state["extra_state"] or "last_optimizer_state" not in state:
            return None
        if non_finite(state) is not None:
            return None
        return int(state["optimizer_history"][-1]["num_updates"])
    except Exception:  # whatever a damaged file makes torch raise
        return None


def _newest(paths: Iterable[Path]) -> tuple[Path, int] | None:
    """The checkpoint with the most updates of those that a training can be resumed from."""
    updates = {path: _updates(path) for path in sorted(paths)}
    whole = {path: number for path, number in updates.items() if number is not None}
    return max(whole.items(), key=lambda one: (one[1], one[0].name)) if whole else None


def last_good(folder: str) -> str:
    """The end of a message: the checkpoint to resume from, if there is one in a folder.

    All that are there are read from end to end.
    """
    newest = _newest(Path(folder).glob("*.pt"))
    return "" if newest is None else f"; {newest[0]}, with {counted(newest[1], 'update')}, is good"


def _refuse_diverged(path: str, state: object) -> None:
    name = non_finite(state)
    if name is not None:
        raise UserError(
            f"checkpoint {path} is not written: the training has diverged, {name} is not finite; "
            f"{REMEDY}{last_good(os.path.dirname(path))}"
        )


def recovery_hint(torn: str) -> str:
    """What to do about a checkpoint that a training cannot resume from.

    All others in its folder are read from end to end.
    """
    folder = Path(torn).parent
    newest = _newest(path for path in folder.glob("*.pt") if path.name != Path(torn).name)
    if newest is None:
        return (
            f"no other checkpoint in {folder} is one to resume from: copy it again, give another "
            "with --restore-file, or move it away to begin anew"
        )
    return (
        f"{newest[0]} is whole, with {counted(newest[1], 'update')}: copy it to {torn}, or give it "
        "once with --restore-file"
    )


def refuse_asynchronous_checkpoints(cfg: "DictConfig") -> None:
    """Refuse ``--write-checkpoints-asynchronously``.

    Fault: fairseq then writes each checkpoint in place, so that a training that is stopped
    leaves a torn one, and neither ``checkpoint_last.pt`` nor ``checkpoint_best.pt`` beside it.
    """
    if cfg.checkpoint.write_checkpoints_asynchronously:
        raise UserError(
            "--write-checkpoints-asynchronously leaves torn checkpoints where a training is "
            f"stopped, and no {_LAST} to resume from; leave it out"
        )


def write_checkpoints_whole() -> None:
    """Let a training that is killed, or a disk that is full, cost no checkpoint.

    Faults: ``checkpoint_last.pt`` and ``checkpoint_best.pt`` are copied in place, so that a kill
    within a copy leaves half a file under the name that a training resumes from. A write that
    fails is tried again behind what it has written already: where that succeeds, a file that
    nobody can read takes the place of the last good one. On a full disk half a file stays, and a
    traceback says so five seconds later. Parameters that are not finite
    replace good ones. Paths that are not of this machine pass to fairseq.
    """
    import torch
    from fairseq import checkpoint_utils
    from fairseq.file_io import PathManager

    @patches(checkpoint_utils, "torch_persistent_save")
    def torch_persistent_save(
        stock: Stock, obj: object, filename: str, async_write: bool = False
    ) -> None:
        """Save whatever torch can save under a name.

        Raises:
            UserError: it cannot be written, or a parameter is not finite.
        """
        _refuse_diverged(filename, obj)
        if async_write or not PathManager.supports_rename(filename):
            stock(obj, filename, async_write)
        else:
            _write(filename, functools.partial(torch.save, obj))

    @patches(PathManager, "copy")
    def copy(stock: Stock, src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        """Copy a file; without ``overwrite`` as fairseq does."""
        ours = overwrite and all(map(PathManager.supports_rename, (src_path, dst_path)))
        if not ours:
            return bool(stock(src_path, dst_path, overwrite))
        _copy(src_path, dst_path)
        return True
