"""How a checkpoint is read: plain data alone, its mistakes in one line, its data from anywhere."""

import argparse
import collections
import contextlib
import functools
import importlib
import os
import re
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from omegaconf import AnyNode, DictConfig, ListConfig
from omegaconf.base import ContainerMetadata, Metadata

from ..errors import UserError
from ..io.patching import Stock, patches
from .trust import check_criterion, settings_of

_REFUSED = r"[Uu]nsupported (?:GLOBAL|global: GLOBAL|class) (\S+)"


def _allowed() -> list[Any]:
    """The classes of fairseq's checkpoints: plain containers and numbers.

    Among them: options of models without a config dataclass; metrics of numpy (a checkpoint names
    the module of the numpy that wrote it); what processes send each other in a resumed training.
    """
    from fairseq.distributed.utils import _TensorPlaceholder

    home = "_core" if hasattr(np, "_core") else "core"
    multiarray = importlib.import_module(f"numpy.{home}.multiarray")
    makers = [
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
        if str(cause).startswith("Model file not found"):
            raise UserError(f"checkpoint {path} does not exist") from error
        raise UserError(
            f"checkpoint {path} cannot be used here ({type(cause).__name__}: {str(cause)[:300]}); "
            "give the task, --arch, options and data it was trained with; or it is damaged"
        ) from error


def read_plain_checkpoints() -> None:
    """Let torch read fairseq's checkpoints, as plain data, and be strict about everything else.

    Faults: fairseq calls ``torch.load`` without ``weights_only``. Since torch 2.6 every fairseq
    checkpoint is refused so; or, with the TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD that many advise for
    fairseq, anything is unpickled.
    """
    from fairseq import checkpoint_utils

    torch.serialization.add_safe_globals(_allowed())
    load = torch.load

    @functools.wraps(load)
    def loaded(f: Any, *args: Any, **options: Any) -> Any:
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        if caller.split(".")[0] not in ("fairseq", "fairseq_cli"):
            return load(f, *args, **options)
        options.pop("pickle_module", None)
        return read_checkpoint(f, *args, **options)

    torch.load = torch.serialization.load = loaded

    @patches(checkpoint_utils, "load_model_ensemble_and_task")
    def load_model_ensemble_and_task(
        stock: Stock,
        filenames: Sequence[str],
        arg_overrides: Mapping[str, object] | None = None,
        *args: object,
        **options: object,
    ) -> tuple[Any, Any, Any]:
        """fairseq's models, settings and task; ``task.checkpoint_cfg`` are the settings."""
        with (
            wrap_checkpoint_errors(":".join(filenames)),
            settings_of(filenames, arg_overrides) as origin,
        ):
            found: tuple[Any, Any, Any] = stock(filenames, arg_overrides, *args, **options)
            check_criterion(origin, found[1])
            found[2].checkpoint_cfg = found[1]
            return found
