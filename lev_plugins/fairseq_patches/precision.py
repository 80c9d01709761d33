"""Half precision where there is no GPU or no TPU."""

import functools
import logging
from types import ModuleType
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor

from ..errors import UserError

logger = logging.getLogger(__name__)


def bf16_without_tpu(cfg: DictConfig) -> None:
    """Let ``--bf16`` work on the device that is there.

    Fault: on the command line ``--bf16`` switches ``--tpu`` on, and without torch_xla the trainer
    dies with an AttributeError. The same training started through hydra works.

    Args:
        cfg: ``FairseqConfig``, changed in place.
    """
    from fairseq.distributed import utils

    if cfg.common.bf16 and cfg.common.tpu and utils.xm is None:
        for section in map(cfg.get, cfg):
            if getattr(section, "tpu", None) is not None:
                section.tpu = False


def refuse_fp16_on_cpu(cfg: DictConfig) -> None:
    """Say what to use instead of ``--fp16``.

    Fault: fairseq's half precision optimizer asks CUDA for its current device before it lays
    the parameters out flat, and dies with "Torch not compiled with CUDA enabled".

    Args:
        cfg: ``FairseqConfig``.

    Raises:
        UserError: naming the switches that work on a CPU.
    """
    common = cfg.common
    flat = not (common.memory_efficient_fp16 or common.fp16_no_flatten_grads)
    if common.fp16 and flat and not torch.cuda.is_available():
        raise UserError("--fp16 needs a GPU; on a CPU use --bf16, --amp or --memory-efficient-fp16")


@functools.cache
def knows_bfloat16() -> bool:
    """Whether oneDNN multiplies bfloat16 here: not on x86-64 CPUs without AVX-512."""
    knows = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return knows is not None and bool(knows())


def say_where_bf16_gains_no_time(cfg: DictConfig) -> None:
    """Warn of ``--bf16`` on a CPU that has to compute it in single precision.

    Args:
        cfg: ``FairseqConfig``.
    """
    on_cpu = cfg.common.cpu or not torch.cuda.is_available()
    if cfg.common.bf16 and on_cpu and not knows_bfloat16():
        logger.warning(
            "this CPU has no bfloat16: --bf16 rounds to it and takes no less time than without"
        )


class _HostTensor(Tensor):
    """A tensor that stays where it is."""

    def cuda(self, *args: object, **options: object) -> Tensor:
        return self


class _TorchWithoutCuda(ModuleType):
    """torch as fairseq's trainer sees it where there is no GPU."""

    @staticmethod
    def tensor(*args: Any, **options: Any) -> Tensor:
        return torch.tensor(*args, **options).as_subclass(_HostTensor)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def ignore_overflows_on_cpu() -> None:
    """Let ``--memory-efficient-fp16`` train on a CPU beyond its first overflow.

    Fault: after an overflow, which is how a loss scale is found, the trainer puts a zero that it
    needs no more on the GPU, and dies with "Torch not compiled with CUDA enabled".
    """
    from fairseq import trainer

    if not torch.cuda.is_available():
        trainer.torch = _TorchWithoutCuda("torch")
