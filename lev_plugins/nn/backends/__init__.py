"""Functions for one kind of device, put on a finished model by :func:`optimize`.

Layers compute with the functions of their ``kernels``: torch's own, until then.
"""

from typing import Any, TypeVar

from torch import Tensor, nn

from ..kernels import TORCH, set_kernels
from . import cpu, cuda

_KERNELS = {"cpu": cpu.CPUKernels()}  # of other devices torch's
#: bytes of a matrix that a GPU can spare besides a model, several times over
GPU_CHUNK_BYTES = 2**28
M = TypeVar("M", bound=nn.Module)


def optimize(model: M) -> M:
    """Lets all layers of a model compute as the device that it lies on does best; the model."""
    device = next((parameter.device.type for parameter in model.parameters()), "")
    set_kernels(model, _KERNELS.get(device, TORCH))
    return model


class FollowsDevice:
    """Mixed into a model, before its other bases: it is optimized again wherever it is moved."""

    def _apply(self, *args: Any, **options: Any) -> Any:
        model: nn.Module = super()._apply(*args, **options)  # type: ignore[misc]
        return optimize(model)


def chunk_rows(x: Tensor) -> int:
    """Rows per chunk of ``x`` (P × V), copied in single precision or more: a chunk fits a CPU's
    cache, or what a GPU can spare."""
    limit = GPU_CHUNK_BYTES if is_accelerator(x) else cpu.CHUNK_BYTES
    row = max(1, x.size(1)) * max(x.element_size(), 4)
    return max(1, limit // row)


def is_accelerator(x: Tensor) -> bool:
    """Returns whether a tensor lies elsewhere than on the CPU."""
    return x.device.type != "cpu"


def configure() -> None:
    """Configures every process that computes."""
    cuda.prefer_own_attention()


def prepare_training(model: nn.Module) -> None:
    """Prepares a training that begins, of a model that lies on its device."""
    cpu.keep_memory()
    devices = {parameter.device.type for parameter in model.parameters()}
    if "cuda" in devices and cuda.may_use_tf32():
        cuda.choose_precision()
