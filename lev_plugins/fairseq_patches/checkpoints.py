"""Checkpoints: what may stand in one, and where its data are looked for."""

import argparse
import collections
import importlib
import os
import typing
from collections.abc import Callable

import numpy as np
import torch
from omegaconf import DictConfig

#: a class or function, or that and the name that checkpoints know it by
Global = Callable[..., object] | tuple[Callable[..., object], str]


def _metric_globals() -> list[Global]:
    """Metrics kept as numpy numbers: trained with ``--eval-bleu``.

    Numbers and truth values only: arrays of Python objects stay refused. numpy 2 renamed
    ``numpy.core``, and a checkpoint names the module of the numpy that wrote it.
    """
    home = "numpy._core" if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "numpy.core"
    multiarray = importlib.import_module(f"{home}.multiarray")
    makers = [
        (getattr(multiarray, name), f"{module}.multiarray.{name}")
        for name in ("_reconstruct", "scalar")
        for module in ("numpy.core", "numpy._core")
    ]
    codes = np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"
    kinds = sorted({type(np.dtype(code)) for code in codes}, key=lambda kind: kind.__name__)
    return [np.ndarray, np.dtype, *makers, *kinds]


def _broadcast_globals() -> list[Global]:
    """What the first process sends to the others when a training resumes."""
    from fairseq.distributed.utils import _TensorPlaceholder
    from omegaconf import AnyNode, DictConfig, ListConfig
    from omegaconf.base import ContainerMetadata, Metadata

    config = [DictConfig, ListConfig, AnyNode, ContainerMetadata, Metadata]
    plain = [collections.defaultdict, dict, list, int, (typing.Any, "typing.Any")]
    return [_TensorPlaceholder, *config, *plain]


def allow_checkpoint_globals() -> None:
    """Let torch read fairseq's checkpoints and stay strict about everything else.

    Fault: fairseq calls ``torch.load`` without ``weights_only``. Since torch 2.6 that means
    ``weights_only=True``, and every fairseq checkpoint is refused, so generating, validating,
    loading from Python and resuming a training all die. The classes named here are plain
    containers and numbers; a checkpoint that asks for any other is still refused.
    """
    # the first in every checkpoint of a model that has no config dataclass
    classes = [argparse.Namespace, *_metric_globals(), *_broadcast_globals()]
    torch.serialization.add_safe_globals(classes)


def absolute_data_paths(cfg: DictConfig | argparse.Namespace) -> None:
    """Make the colon separated folders in ``cfg.data`` absolute, in place.

    Fault: a checkpoint stores ``data`` as it was typed, so a relative path breaks loading it from
    any other folder. Folders that do not exist from here, and remote ones, are left as they are.

    Args:
        cfg: a task's config (a dataclass, an OmegaConf node or a namespace); without a string in
            ``data`` nothing happens.
    """
    data = getattr(cfg, "data", None)
    if not isinstance(data, str) or not data or "://" in data:
        return
    paths = data.split(os.pathsep)
    cfg.data = os.pathsep.join(os.path.abspath(p) if os.path.exists(p) else p for p in paths)
