"""Half precision where there is no GPU or no TPU."""

from types import ModuleType
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor

from ..errors import UserError


def _sections_with_tpu(cfg: DictConfig) -> list[DictConfig]:
    """Parts of a ``FairseqConfig`` that hold a ``tpu`` switch of their own."""
    sections = [cfg.get(name) for name in cfg]
    return [part for part in sections if getattr(part, "tpu", None) is not None]


def bf16_without_tpu(cfg: DictConfig) -> None:
    """Let ``--bf16`` work on the device that is there.

    Fault: on the command line ``--bf16`` switches ``--tpu`` on, and without torch_xla the trainer
    dies with an AttributeError. The same training started through hydra works.

    Args:
        cfg: ``FairseqConfig``, changed in place.
    """
    from fairseq.distributed import utils

    if cfg.common.bf16 and cfg.common.tpu and utils.xm is None:
        for section in _sections_with_tpu(cfg):
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
