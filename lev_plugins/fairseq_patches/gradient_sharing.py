"""Faults: sharing gradients fails late, by a traceback, on a CPU and where a library is missing."""

import importlib.util
from typing import Any

from fairseq.models import distributed_fairseq_model
from fairseq.optim import OPTIMIZER_REGISTRY
from omegaconf import DictConfig, OmegaConf
from torch import nn

from lev_runtime.errors import UserError

from ..io.patching import Stock, patches
from .hooks import model_class

_PACKAGE = __name__.partition(".")[0]
_WAY_OUT = (
    "leave the option out: pytorch_ddp is the default, legacy_ddp the one that overlaps nothing"
)


@patches(distributed_fairseq_model, "DistributedDataParallel")
def distributed_data_parallel(stock: Stock, module: nn.Module, **options: Any) -> Any:
    """torch's; on a CPU fairseq names a GPU to it, which it refuses."""
    if all(parameter.device.type == "cpu" for parameter in module.parameters()):
        options |= {"device_ids": None, "output_device": None}
    return stock(module=module, **options)


def require_backend(cfg: DictConfig) -> None:
    """Raises :class:`UserError` for a way to share gradients or states that cannot work.

    Sharded parameters are flat vectors, in which our optimizers find no matrices and no backbone,
    and our models no module of theirs.
    """
    place = cfg.distributed_training
    backend, zero = str(place.ddp_backend), str(place.zero_sharding)
    if backend == "fully_sharded":
        model = None if OmegaConf.is_missing(cfg, "model") else model_class(cfg.model)
        optimizer = OPTIMIZER_REGISTRY.get(getattr(cfg.optimizer, "_name", None))
        for component in filter(None, (model, optimizer)):
            if component.__module__.startswith(f"{_PACKAGE}."):
                name = component.__name__
                raise UserError(f"--ddp-backend {backend} cannot shard {name}; {_WAY_OUT}")
    flag = "--zero-sharding os" if zero == "os" else f"--ddp-backend {backend}"
    needs_fairscale = zero == "os" or backend in ("fully_sharded", "slowmo")
    if needs_fairscale and importlib.util.find_spec("fairscale") is None:
        raise UserError(f"{flag} needs fairscale, which is not installed; {_WAY_OUT}")
