"""How a checkpoint is read, plain data alone, and how it is written, whole or not at all."""

import argparse
import collections
import contextlib
import functools
import os
import re
import shutil
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import torch
from fairseq import checkpoint_utils
from fairseq.distributed.utils import _TensorPlaceholder
from fairseq.file_io import PathManager
from numpy._core import multiarray
from omegaconf import AnyNode, DictConfig, ListConfig
from omegaconf.base import ContainerMetadata, Metadata

from ..errors import UserError
from ..io.output import whole
from ..io.patching import Stock, patches
from .paths import find_checkpoint
from .trust import check_criterion, settings_of

_REFUSED = r"[Uu]nsupported (?:GLOBAL|global: GLOBAL|class) (\S+)"


def _allowed() -> list[Any]:
    """The classes of fairseq's checkpoints: plain containers, numbers, and what processes send."""
    makers = [  # a checkpoint names the module of the numpy that wrote it
        (getattr(multiarray, name), f"numpy.{core}.multiarray.{name}")
        for name in ("_reconstruct", "scalar")
        for core in ("core", "_core")
    ]
    codes = np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"
    numbers = {type(np.dtype(code)) for code in codes}
    config = [DictConfig, ListConfig, AnyNode, ContainerMetadata, Metadata, argparse.Namespace]
    plain = [collections.defaultdict, dict, list, int, (typing.Any, "typing.Any")]
    return [np.ndarray, np.dtype, *makers, *numbers, *config, *plain, _TensorPlaceholder]


def read_checkpoint(file: Any, map_location: Any = "cpu", **options: Any) -> Any:
    """``torch.load`` of plain data, whatever the environment says.

    Raises:
        UserError: it cannot be read, or asks for more than data.
    """
    path = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", "")
    try:
        return torch.load(file, map_location=map_location, **{**options, "weights_only": True})
    except Exception as error:  # torch has no class of its own for a damaged file
        said = f"damaged, cut short or no checkpoint ({type(error).__name__})"
        if refused := re.search(_REFUSED, str(error)):
            said = f"asks for {refused[1]}, which could run foreign code, and is not loaded"
        elif isinstance(error, OSError) and error.strerror:
            said = error.strerror
        raise UserError(f"checkpoint {path}: {said}") from error


@contextlib.contextmanager
def wrap_checkpoint_errors(path: str) -> Iterator[None]:
    """Whatever goes wrong inside over a checkpoint is a UserError, unless memory has ended."""
    try:
        yield
    except (UserError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        cause = error.__context__ or error  # the trainer says less than what it has met
        if isinstance(cause, UserError):
            raise cause from error
        raise UserError(
            f"checkpoint {path} cannot be used here ({type(cause).__name__}: {str(cause)[:300]}); "
            "give the task, --arch, options and data it was trained with; or it is damaged"
        ) from error


# Faults: fairseq calls ``torch.load`` without ``weights_only``: torch ≥ 2.6 refuses each of its
# checkpoints or, with TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD, unpickles anything.
torch.serialization.add_safe_globals(_allowed())
_load = torch.load


@functools.wraps(_load)
def _loaded(f: Any, *args: Any, **options: Any) -> Any:
    caller = str(sys._getframe(1).f_globals.get("__name__"))
    if caller.split(".")[0] not in ("fairseq", "fairseq_cli"):
        return _load(f, *args, **options)
    options.pop("pickle_module", None)
    return read_checkpoint(f, *args, **options)


torch.load = torch.serialization.load = _loaded


@patches(checkpoint_utils, "load_model_ensemble_and_task")
def load_model_ensemble_and_task(
    stock: Stock, filenames: Sequence[str], arg_overrides: Mapping[str, object] | None = None,
    task: Any = None, strict: bool = True, suffix: str = "", num_shards: int = 1, state: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """fairseq's models, settings and task; a folder stands for the checkpoint in it.

    Fault: of a file that does not exist it says what it says of a damaged one.
    """
    whole = not suffix and num_shards == 1  # else fairseq completes the names
    paths = [find_checkpoint(one) if whole and "://" not in one else one for one in filenames]
    with wrap_checkpoint_errors(":".join(paths)), settings_of(paths, arg_overrides) as origin:
        found: tuple[Any, Any, Any] = stock(
            paths, arg_overrides, task, strict, suffix, num_shards, state
        )
        check_criterion(origin, found[1])
        return found


@contextlib.contextmanager
def atomic_save(path: str) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` when all of it is on the disk (:func:`.whole`).

    A link is replaced, not followed.
    """
    with whole(path, f"{path}.tmp") as written, open(written, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@patches(checkpoint_utils, "torch_persistent_save")
def save(stock: Stock, obj: Any, filename: str, async_write: bool = False) -> None:
    """Fault: a write that fails is tried again behind what it has written."""
    with atomic_save(filename) as file:
        torch.save(obj, file)


@patches(PathManager, "copy")
def copy(stock: Stock, src_path: str, dst_path: str, overwrite: bool = False) -> bool:
    """Fault: ``checkpoint_last.pt`` and ``checkpoint_best.pt``, all it copies, in place."""
    with open(src_path, "rb") as whole, atomic_save(dst_path) as file:
        shutil.copyfileobj(whole, file, 1 << 20)
    return True
