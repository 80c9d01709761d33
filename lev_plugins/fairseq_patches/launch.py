"""Faults: on a CPU, and by torchrun, fairseq starts a training's processes wrongly or not at all;
``--bf16`` switches ``--tpu`` on.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fairseq.distributed import utils
from omegaconf import DictConfig

from lev_runtime.errors import UserError

from ..io.patching import Stock, patches
from .gradient_sharing import require_backend
from .settings import resolve_in_main, torchrun_processes
from .signals import watched


@patches(utils, "call_main")
def call_main(stock: Stock, cfg: DictConfig, main: Callable[..., object], **kwargs: object) -> None:
    """Start a training's processes, for which fairseq's settings are not enough.

    hydra calls fairseq's own for its first job, which imports this package in ``main``: what that
    can wait for stands in :mod:`.settings`.
    """
    code = getattr(main, "__code__", None)
    if code is None or Path(code.co_filename).parts[-2:] != ("fairseq_cli", "train.py"):
        return stock(cfg, main, **kwargs)
    require_backend(cfg)
    resolve_in_main()
    if cfg.common.bf16 and utils.xm is None:
        for section in map(cfg.get, cfg):
            if getattr(section, "tpu", None) is not None:
                section.tpu = False
    place = cfg.distributed_training
    _complete(place, cfg.common.cpu)
    spawns = place.distributed_init_method is not None and not place.distributed_no_spawn
    with watched(spawns):
        stock(cfg, main, **kwargs)


def _complete(place: Any, on_cpu: bool) -> None:
    """Complete the settings of a training in several processes, as fairseq does it.

    fairseq divides a process's rank by the number of GPUs, also on a CPU; and the processes that
    torchrun has started train each for itself, unless they are told how many there are.

    Raises:
        UserError: several processes on a CPU that nobody has started, or that would share their
            gradients by a library for GPUs.
    """
    has_gpus, processes = torch.cuda.device_count() > 0, torchrun_processes()
    if processes > 1 and (on_cpu or not has_gpus) and place.distributed_backend == "nccl":
        raise UserError("--distributed-backend nccl needs GPUs; on a CPU give gloo")
    if processes:
        place.distributed_world_size = processes
        if processes > 1 and not has_gpus:
            place.distributed_init_method, place.distributed_no_spawn = "env://", True
            place.distributed_rank, place.device_id = int(os.environ["RANK"]), 0
    elif place.distributed_world_size > 1 and not has_gpus:
        if "SLURM_JOB_ID" not in os.environ and not place.distributed_no_spawn:
            raise UserError(
                f"--distributed-world-size {place.distributed_world_size}: on a CPU torchrun "
                "starts them: torchrun --nproc_per_node N $(which fairseq-train) … --cpu "
                "--distributed-backend gloo --ddp-backend legacy_ddp"
            )
    utils.infer_init_method(place)
