"""How fairseq's commands start their processes, and what a training's settings still lack then."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from ..errors import UserError
from ..io.patching import Stock, patches
from .preemption import watched
from .training import model_class

_TORCHRUN = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")


def _check_launch(cfg: DictConfig) -> None:
    """Refuse a training on a CPU whose processes would train each for itself, or not at all."""
    asked, method = cfg.distributed_world_size, cfg.distributed_init_method
    torchrun = all(name in os.environ for name in _TORCHRUN)
    started = int(os.environ["WORLD_SIZE"]) if torchrun else 1
    alone = asked == 1 and started > 1 and method is None
    unconnected = asked > 1 and method is None and not torchrun and "SLURM_JOB_ID" not in os.environ
    empty = method is not None and not cfg.distributed_no_spawn
    if alone or (torch.cuda.device_count() == 0 and (unconnected or empty)):
        count = max(asked, started)
        raise UserError(
            f"no training of several processes begins so (--distributed-world-size {asked}, and "
            f"torchrun has started {started}); launch as torchrun --nproc_per_node {count} "
            "$(which fairseq-train) … --cpu --distributed-backend gloo --ddp-backend legacy_ddp "
            f"--distributed-world-size {count}"
        )


def train_on_cpus() -> None:
    """Let torchrun start fairseq where there is no GPU.

    Fault: fairseq takes the rank modulo the number of GPUs, which is 0.
    """
    from fairseq.distributed import utils

    @patches(utils, "_infer_torch_distributed_launch_init")
    def infer(stock: Stock, cfg: DictConfig) -> None:
        """Take the process's place from torchrun's environment (``cfg``: distributed training)."""
        if torch.cuda.device_count() > 0:
            return stock(cfg)
        cfg.distributed_init_method, cfg.distributed_no_spawn = "env://", True
        cfg.distributed_world_size = int(os.environ["WORLD_SIZE"])
        cfg.distributed_rank, cfg.device_id = int(os.environ["RANK"]), 0


def absolute_data_paths(cfg: DictConfig | argparse.Namespace) -> None:
    """Make the colon separated folders in ``cfg.data`` absolute, in place.

    Folders that do not exist from here, and remote ones, are left as they are.
    """
    data = getattr(cfg, "data", None)
    if isinstance(data, str) and data and "://" not in data:
        paths = data.split(os.pathsep)
        cfg.data = os.pathsep.join(os.path.abspath(p) if os.path.exists(p) else p for p in paths)


def settle_trainings() -> None:
    """Complete a training's settings before fairseq keeps them and starts its processes.

    Faults: a relative path of the data breaks loading from any other folder. A model gets a copy
    of its settings, so nothing that it finds out (the sizes of a pre-trained backbone) reaches a
    checkpoint; its class may have a ``settle(cfg.model)`` instead. ``--bf16`` switches ``--tpu``
    on, and without torch_xla the trainer dies. On a CPU, processes train each for itself, or
    nothing, with status 0. Checkpoints that are written asynchronously are torn by a stop.
    """
    from fairseq.distributed import utils

    @patches(utils, "call_main")
    def call_main(
        stock: Stock, cfg: DictConfig, main: Callable[..., object], **kwargs: object
    ) -> None:
        """Check, then run ``main(cfg, **kwargs)`` in all processes as fairseq does."""
        code = getattr(main, "__code__", None)
        if code is None or Path(code.co_filename).parts[-2:] != ("fairseq_cli", "train.py"):
            return stock(cfg, main, **kwargs)
        if cfg.checkpoint.write_checkpoints_asynchronously:
            raise UserError("--write-checkpoints-asynchronously tears checkpoints; leave it out")
        absolute_data_paths(cfg.task)
        kind: Any = None if OmegaConf.is_missing(cfg, "model") else model_class(cfg.model)
        if hasattr(kind, "settle"):
            kind.settle(cfg.model)
        if cfg.common.bf16 and utils.xm is None:
            for section in map(cfg.get, cfg):
                if getattr(section, "tpu", None) is not None:
                    section.tpu = False
        place = cfg.distributed_training
        _check_launch(place)
        if place.distributed_world_size > 1:
            utils.infer_init_method(place)  # as fairseq is about to do
        with watched(place.distributed_init_method is not None and not place.distributed_no_spawn):
            stock(cfg, main, **kwargs)
