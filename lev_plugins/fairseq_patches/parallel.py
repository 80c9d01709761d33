"""How the processes of a training share gradients, time and signals, and what is refused."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fairseq.distributed import utils
from fairseq.models import distributed_fairseq_model
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.trainer import Trainer
from omegaconf import DictConfig, OmegaConf
from torch import nn

from ..errors import UserError
from ..io.patching import Stock, patches
from .signals import SIGNALS, received
from .trainings import CHECKS, _model_class

_PACKAGE = __name__.split(".")[0]
_WAY = "leave the option out: pytorch_ddp is the default, legacy_ddp the one that overlaps nothing"


@patches(distributed_fairseq_model, "DistributedDataParallel")
def distributed_data_parallel(stock: Stock, module: nn.Module, **options: Any) -> nn.Module:
    """Fault: on a CPU it names a GPU to the module, which refuses that."""
    if all(parameter.device.type == "cpu" for parameter in module.parameters()):
        options |= {"device_ids": None, "output_device": None}
    wrapped: nn.Module = stock(module=module, **options)
    return wrapped


@patches(Trainer, "reset_dummy_batch")
def reset_dummy_batch(stock: Stock, self: Trainer, batch: Any) -> None:
    """What a process computes that has no batch left; one of several that were read as one."""
    stock(self, batch[0] if isinstance(batch, list) else batch)


@patches(Trainer, "_aggregate_logging_outputs")
def add_signals(
    stock: Stock, self: Any, outputs: Any, *sums: Any, ignore: bool = False
) -> tuple[Any, list[Any]]:
    """Let the processes tell each other their signals in the sum that fairseq makes anyway.

    With it comes the time, of which fairseq keeps a tensor of the device: each comparison with
    ``--stop-time-hours`` would make the host wait for all that the device has to do.
    """
    own_signals = [float(number in received) for number in SIGNALS]
    outputs, totals = stock(self, outputs, *sums, *own_signals, ignore=ignore)
    own, told = list(totals[: len(sums)]), totals[len(sums) :]
    if len(own) == 3:  # of an update: size, batches out of memory, time
        self.unread = [own[2], *told]
    return outputs, own


@patches(Trainer, "clip_grad_norm")
def read_agreed(stock: Stock, self: Any, *arguments: Any) -> Any:
    """Read what the processes agree on, where the host waits for the device in any case.

    fairseq looks at the norm of the gradients behind this, and before at the size of the batch.
    """
    unread, self.unread = getattr(self, "unread", None), None
    if unread is not None:
        on_device = torch.is_tensor(unread[0])
        seconds, *told = torch.stack(unread).tolist() if on_device else unread
        self._cumulative_training_time = seconds / self.data_parallel_world_size
        self.told = [number for number, count in zip(SIGNALS, told) if count]
        if hasattr(self.lr_scheduler, "agree"):
            self.lr_scheduler.agree(self._cumulative_training_time)
    return stock(self, *arguments)


def _require_backend(cfg: DictConfig) -> None:
    """Raises :class:`UserError` for a way to share gradients or states that cannot work.

    Faults: without fairscale fairseq ends in a traceback, once data and model are loaded. Sharded
    parameters are flat vectors, in which our optimizers find no matrices and no backbone, and
    our models no module of theirs.
    """
    place = cfg.distributed_training
    backend, zero = str(place.ddp_backend), str(place.zero_sharding)
    if backend == "fully_sharded":
        model = None if OmegaConf.is_missing(cfg, "model") else _model_class(cfg.model)
        optimizer = OPTIMIZER_REGISTRY.get(getattr(cfg.optimizer, "_name", None))
        for kind in filter(None, (model, optimizer)):
            if getattr(kind, "__module__", "").startswith(f"{_PACKAGE}."):
                raise UserError(f"--ddp-backend {backend} cannot shard {kind.__name__}; {_WAY}")
    flags = {"--ddp-backend fully_sharded": backend == "fully_sharded"}
    flags |= {"--ddp-backend slowmo": backend == "slowmo", "--zero-sharding os": zero == "os"}
    for flag, given in flags.items():
        if given and importlib.util.find_spec("fairscale") is None:
            raise UserError(f"{flag} needs fairscale, which is not installed; {_WAY}")


CHECKS.append(_require_backend)


@patches(utils, "call_main")
def call_main(stock: Stock, cfg: DictConfig, main: Callable[..., object], **kwargs: object) -> None:
    """fairseq's; of a training :func:`_require_backend` first."""
    code = getattr(main, "__code__", None)
    if code is not None and Path(code.co_filename).parts[-2:] == ("fairseq_cli", "train.py"):
        _require_backend(cfg)
    stock(cfg, main, **kwargs)
