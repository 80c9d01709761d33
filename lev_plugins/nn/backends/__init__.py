"""What only one kind of device needs."""

from torch import nn

from . import cpu, cuda


def configure() -> None:
    """For every process that computes."""
    cuda.prefer_own_attention()


def prepare_training(model: nn.Module) -> None:
    """For a training that begins, of a model that lies on its device."""
    cpu.keep_memory()
    devices = {parameter.device.type for parameter in model.parameters()}
    if "cuda" in devices and cuda.may_use_tf32():
        cuda.choose_precision()
