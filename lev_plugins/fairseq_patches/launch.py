"""Training in several processes on a machine without a GPU."""

import contextlib
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import torch
from omegaconf import DictConfig, OmegaConf

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command
from ..io.saving import refuse_asynchronous_checkpoints
from .checkpoints import absolute_data_paths
from .precision import bf16_without_tpu, refuse_fp16_on_cpu, say_where_bf16_gains_no_time
from .preemption import pass_signals_on, stop_watching

_TORCHRUN = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
_SLURM = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")
_CPU_DDP_BACKENDS = ("legacy_ddp", "no_c10d")


def _is_training(main: Callable[..., object]) -> bool:
    code = getattr(main, "__code__", None)
    return code is not None and Path(code.co_filename).parts[-2:] == ("fairseq_cli", "train.py")


def _under_torchrun() -> bool:
    return all(name in os.environ for name in _TORCHRUN)


def _command(processes: int) -> str:
    """The launch that works, for the end of a message."""
    torchrun = f"torchrun --nproc_per_node {processes}"
    if running_command() == "hydra-train":
        settings = {
            "distributed_backend": "gloo",
            "ddp_backend": "legacy_ddp",
            "distributed_world_size": processes,
            "distributed_init_method": "env://",
            "distributed_no_spawn": "true",
            "distributed_rank": "'${oc.env:RANK}'",
        }
        options = " ".join(f"distributed_training.{key}={settings[key]}" for key in settings)
        return f"launch as: {torchrun} $(which fairseq-hydra-train) … common.cpu=true {options}"
    return (
        f"launch as: {torchrun} $(which fairseq-train) … --cpu --distributed-backend gloo "
        f"--distributed-world-size {processes} --ddp-backend legacy_ddp"
    )


def infer_torchrun_on_cpu() -> None:
    """Let torchrun start fairseq where there is no GPU.

    Fault: ``_infer_torch_distributed_launch_init`` takes the rank modulo ``device_count()``,
    which is 0. There the device is number 0, the CPU; with GPUs fairseq's function still runs.
    """
    from fairseq.distributed import utils

    @patches(utils, "_infer_torch_distributed_launch_init")
    def infer(stock: Stock, cfg: DictConfig) -> None:
        """Take the process's place from torchrun's environment (``cfg``: distributed training)."""
        if torch.cuda.device_count() > 0:
            stock(cfg)
            return
        cfg.distributed_init_method = "env://"
        cfg.distributed_world_size = int(os.environ["WORLD_SIZE"])
        cfg.distributed_rank = int(os.environ["RANK"])
        cfg.device_id = 0
        cfg.distributed_no_spawn = True


def _refuse_lonely_ranks(processes: int) -> None:
    raise UserError(
        f"torchrun started {processes} processes, but --distributed-world-size is 1, so each would "
        f"train alone and overwrite the others' checkpoints; {_command(processes)}"
    )


def _refuse_unconnected(cfg: DictConfig) -> None:
    """Several processes are wanted and nothing is there to start or connect them."""
    started = _under_torchrun() or any(name in os.environ for name in _SLURM)
    if cfg.distributed_world_size > 1 and cfg.distributed_init_method is None and not started:
        raise UserError(
            f"--distributed-world-size {cfg.distributed_world_size} starts no process on a machine "
            f"without a GPU; {_command(cfg.distributed_world_size)}"
        )


def _refuse_empty_spawn(cfg: DictConfig) -> None:
    """fairseq would start one process for each GPU: none, and end with status 0."""
    if cfg.distributed_init_method is not None and not cfg.distributed_no_spawn:
        raise UserError(
            f"--distributed-init-method {cfg.distributed_init_method} without "
            "--distributed-no-spawn trains nothing on a machine without a GPU; start every "
            "process yourself with --distributed-no-spawn --distributed-rank RANK, or "
            + _command(cfg.distributed_world_size)
        )


def _refuse_gpu_backends(cfg: DictConfig) -> None:
    """Gradients of several processes cannot be summed on a CPU this way."""
    size = cfg.distributed_world_size
    refused = None
    if cfg.ddp_backend not in _CPU_DDP_BACKENDS:
        refused = f"--ddp-backend {cfg.ddp_backend}"
    elif cfg.distributed_backend == "nccl":
        refused = "--distributed-backend nccl"
    if size > 1 and refused is not None:
        raise UserError(
            f"{refused} does not join {size} processes on a CPU; "
            f"for one process give --distributed-world-size 1, for {size} {_command(size)}"
        )


def check_cpu_launch(cfg: DictConfig, training: bool) -> None:
    """Refuse a launch on the CPU that would crash, train nothing, or train each rank alone.

    Args:
        cfg: ``FairseqConfig.distributed_training``. Where it lacks its init method this is
            inferred, as fairseq is about to do anyway.
        training: the command trains, so processes that know nothing of each other do harm.

    Raises:
        UserError: with the command that works.
    """
    from fairseq.distributed import utils

    processes = int(os.environ["WORLD_SIZE"]) if _under_torchrun() else 1
    alone = cfg.distributed_world_size == 1 and cfg.distributed_init_method is None
    if training and processes > 1 and alone:
        _refuse_lonely_ranks(processes)
    if torch.cuda.device_count() == 0:
        _refuse_unconnected(cfg)
        utils.infer_init_method(cfg)
        _refuse_empty_spawn(cfg)
    _refuse_gpu_backends(cfg)


def refuse_fairscale(cfg: DictConfig) -> None:
    """Refuse ``fully_sharded`` and ``slowmo`` where they would end in a traceback.

    Fault: both are fairscale's, which fairseq looks for once the model is built, and which
    shards nothing in a process that has no other.

    Args:
        cfg: ``FairseqConfig.distributed_training`` of a training that is no CPU's or has one
            process.

    Raises:
        UserError: there is one process, or no fairscale.
    """
    backend = cfg.ddp_backend
    world = int(os.environ["WORLD_SIZE"]) if _under_torchrun() else cfg.distributed_world_size
    if backend == "fully_sharded" and world == 1:
        raise UserError(
            "--ddp-backend fully_sharded shards a model among several GPUs, and this is one "
            "process; leave the option out"
        )
    needed = backend == "fully_sharded" or (backend == "slowmo" and world > 1)
    if needed and importlib.util.find_spec("fairscale") is None:
        raise UserError(
            f"--ddp-backend {backend} needs the library fairscale; install it: pip install "
            "fairscale, or leave the option out for torch's own DDP"
        )


def resolve_model_config(cfg: DictConfig) -> None:
    """Let a model complete its own settings before they are kept for the checkpoints.

    Fault: ``build_model`` gets a copy of the settings, so nothing that a model finds out there
    (the sizes of a pre-trained backbone) reaches a checkpoint.

    Args:
        cfg: a training's settings; the class of its model may have a ``settle(cfg.model)``.
    """
    from fairseq.models import ARCH_MODEL_REGISTRY

    if OmegaConf.is_missing(cfg, "model"):
        return
    name = getattr(cfg.model, "_name", None) or getattr(cfg.model, "arch", None)
    settle = getattr(ARCH_MODEL_REGISTRY.get(name), "settle", None)
    if settle is not None:
        settle(cfg.model)


def check_launches() -> None:
    """Look at a command's settings once more before fairseq starts its processes.

    Faults, all seen on a CPU: torchrun without ``--distributed-world-size`` trains every rank
    alone, in silence; a world of two with ``tcp://`` and without ``--distributed-no-spawn`` trains
    nothing and exits with status 0; without an init method it fails an assertion;
    ``pytorch_ddp`` and nccl raise. Launches on GPUs pass, unless they need a fairscale that is
    not there. Besides, a training's
    ``data`` is made absolute, and its model and precision are settled: this is the last place
    before fairseq keeps the settings.
    """
    from fairseq.distributed import utils

    @patches(utils, "call_main")
    def call_main(
        stock: Stock, cfg: DictConfig, main: Callable[..., object], **kwargs: object
    ) -> None:
        """Check, then run ``main(cfg, **kwargs)`` in all processes as fairseq does."""
        training = _is_training(main)
        if training:
            absolute_data_paths(cfg.task)
            resolve_model_config(cfg)
            bf16_without_tpu(cfg)
            refuse_fp16_on_cpu(cfg)
            say_where_bf16_gains_no_time(cfg)
            refuse_asynchronous_checkpoints(cfg)
        if cfg.common.cpu or not torch.cuda.is_available():
            check_cpu_launch(cfg.distributed_training, training)
        if training:
            refuse_fairscale(cfg.distributed_training)
        place = cfg.distributed_training
        if training and place.distributed_world_size > 1:
            utils.infer_init_method(place)  # as fairseq is about to do
        spawns = place.distributed_init_method is not None and not place.distributed_no_spawn
        try:
            with pass_signals_on() if training and spawns else contextlib.nullcontext():
                stock(cfg, main, **kwargs)
        finally:
            stop_watching()

    _check_hydra_ranks()


def _check_hydra_ranks() -> None:
    """``fairseq-hydra-train`` imports the plugin after its processes were connected, or not."""
    lonely = _under_torchrun() and not torch.distributed.is_initialized()
    if running_command() == "hydra-train" and lonely and not torch.cuda.is_available():
        processes = int(os.environ["WORLD_SIZE"])
        if processes > 1:
            _refuse_lonely_ranks(processes)
