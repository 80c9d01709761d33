"""Reads checkpoints as plain data alone, and writes them whole or not at all.

Faults: fairseq reads checkpoints with ``torch.load`` as it comes, which refuses each of them or,
with TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD, unpickles anything; errors are tracebacks; a checkpoint is
written in place, and a write that fails is tried again after what it has written.
"""

import argparse
import collections
import contextlib
import os
import re
import shutil
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np
import torch
from fairseq import checkpoint_utils
from fairseq.distributed import utils
from fairseq.file_io import PathManager
from fairseq.models import FairseqLanguageModel
from numpy._core import multiarray
from omegaconf import AnyNode, DictConfig, ListConfig
from omegaconf.base import ContainerMetadata, Metadata

from lev_runtime.errors import UserError
from lev_runtime.io.output import atomic_replace

from ..io.patching import Stock, patches
from ..io.program import running_command
from .checkpoint_files import (
    FILE_OPTIONS,
    REMOTE,
    find_checkpoint,
    flag,
    loading_checkpoint,
    plain,
)

_REFUSED = re.compile(r"[Uu]nsupported (?:GLOBAL|global: GLOBAL|class) (\S+)")
#: other modules of fairseq that read files with ``torch.load``
READERS = (
    "fairseq.data.codedataset",
    "fairseq.models.speech_to_text.xm_transformer",
    "fairseq.models.text_to_speech.vocoder",
    "fairseq.modules.quantization.pq.em",
)


def _plain_classes() -> list[Any]:
    """Returns the classes of fairseq's checkpoints: containers, numbers, what processes send."""
    classes: list[Any] = [np.ndarray, np.dtype, utils._TensorPlaceholder]
    for name in ("_reconstruct", "scalar"):
        maker = getattr(multiarray, name)
        for core in ("core", "_core"):  # a checkpoint names the module of the numpy that wrote it
            classes.append((maker, f"numpy.{core}.multiarray.{name}"))
    codes = np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"
    classes += {type(np.dtype(code)) for code in codes}
    classes += [DictConfig, ListConfig, AnyNode, ContainerMetadata, Metadata, argparse.Namespace]
    classes += [collections.defaultdict, dict, list, int, (typing.Any, "typing.Any")]
    return classes


def read_checkpoint(file: Any, map_location: Any = "cpu", **options: Any) -> Any:
    """Loads plain data by ``torch.load``, whatever the environment says.

    Raises:
        UserError: it cannot be read, or asks for more than data.
    """
    path = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", "")
    try:
        state = torch.load(file, map_location, **{**options, "weights_only": True})
    except Exception as error:  # torch has no class of its own for a damaged file
        reason = f"damaged, cut short or no checkpoint ({type(error).__name__})"
        if refused := _REFUSED.search(str(error)):
            reason = f"asks for {refused[1]}, which could run foreign code, and is not loaded"
        elif isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        raise UserError(f"checkpoint {path}: {reason}") from None
    if not options.get("mmap"):  # which reads no tensors
        _refuse_not_finite(state, path)
    return state


def _refuse_not_finite(state: Any, path: object) -> None:
    """Raises :class:`UserError` for a model with weights of NaN or infinity."""
    parameters = state.get("model") if isinstance(state, dict) else None
    for name, values in parameters.items() if isinstance(parameters, dict) else ():
        # fairseq leaves a buffer of one number as memory was
        is_weight = isinstance(values, torch.Tensor) and values.numel() > 1
        # a sum takes a fifth of the time of isfinite()
        if is_weight and not values.sum(dtype=torch.float64).isfinite():
            raise UserError(
                f"checkpoint {path}: {name} has values of NaN or infinity; take an earlier one"
            )


class _PlainTorch(ModuleType):
    """torch, whose ``load`` is :func:`read_checkpoint`."""

    load = staticmethod(read_checkpoint)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def read_plain_data(module: ModuleType) -> None:
    """Lets a module of fairseq read plain data alone."""
    vars(module)["torch"] = _PlainTorch("torch")


torch.serialization.add_safe_globals(_plain_classes())
read_plain_data(checkpoint_utils)
read_plain_data(utils)


def model_differences(own: Any, stored: Any) -> str:
    """Returns which options of a model a checkpoint has otherwise, in words; "" if none.

    Numbers with a fraction, such as dropout, and files do not shape a model.
    """
    if own is None or stored is None:
        return ""
    differ = []
    for name in plain(own):
        here, there = getattr(own, name), getattr(stored, name, None)
        same = name in FILE_OPTIONS or isinstance(here, float) or str(here) == str(there)
        if not same and hasattr(stored, name):
            option = "the model" if name == "_name" else flag(name)
            differ.append(f"{option} is {there} there and {here} here")
    return ", ".join(differ)


@contextlib.contextmanager
def wrap_checkpoint_errors(path: str, differences: Callable[[], str] = str) -> Iterator[None]:
    """Turns what goes wrong inside over a checkpoint into a UserError, unless memory has ended.

    differences: returns in words what makes its parameters not fit, "" if nothing is known to.
    """
    try:
        yield
    except (UserError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        cause = error.__context__ or error  # the trainer says less than what it has met
        if isinstance(cause, UserError):
            raise cause from error
        if isinstance(cause, RuntimeError) and (differ := differences()):
            raise UserError(f"checkpoint {path} does not fit: {differ}") from error
        raise UserError(
            f"checkpoint {path} cannot be used here ({type(cause).__name__}: "
            f"{str(cause)[:300]}); give the task, --arch, options and data of its training, "
            "or check whether it is damaged"
        ) from error


@patches(checkpoint_utils, "load_model_ensemble_and_task")
def load_model_ensemble_and_task(
    stock: Stock, filenames: Sequence[str], arg_overrides: Mapping[str, object] | None = None,
    task: Any = None, strict: bool = True, suffix: str = "", num_shards: int = 1, state: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Loads models, settings and task; a folder stands for the checkpoint in it.

    Fault: of a file that does not exist fairseq says the same as of a damaged one.
    """
    in_parts = suffix or num_shards > 1  # of which fairseq completes the names
    paths = [name if in_parts or REMOTE in name else find_checkpoint(name) for name in filenames]
    named = ":".join(paths)
    given = f"given here is {dict(arg_overrides)}" if arg_overrides else ""
    with wrap_checkpoint_errors(named, lambda: given), loading_checkpoint(paths, arg_overrides):
        models, cfg, task = stock(paths, arg_overrides, task, strict, suffix, num_shards, state)
    criterion = cfg.get("criterion")
    if getattr(criterion, "save_predictions", None):
        criterion.save_predictions = None  # a file that fairseq-validate would write
    if running_command() == "eval-lm" and not isinstance(models[0], FairseqLanguageModel):
        raise UserError(f"{named} is no language model; fairseq-validate has the loss of any model")
    return models, cfg, task


# writing ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic_save(path: str) -> Iterator[BinaryIO]:
    """Opens a file that replaces ``path`` when all of it is on the disk.

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
        shutil.copyfileobj(source, file)
    return True
