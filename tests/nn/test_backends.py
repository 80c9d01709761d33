"""Layers compute as their device does best, wherever the model is moved."""

from torch import nn

from lev_plugins.nn.backbone import EncoderBody
from lev_plugins.nn.backends import FollowsDevice, cpu
from lev_plugins.nn.kernels import TORCH
from lev_plugins.nn.transformer import BlockSize, TransformerBlock, TransformerStack


class Model(FollowsDevice, nn.Sequential): ...


def test_a_model_follows_its_device():
    size = BlockSize(8, 2, 16, True, 0.0, 0.0, 0.0, "relu")
    stack = TransformerStack([TransformerBlock(size), TransformerBlock(size)])
    model = Model(EncoderBody(stack, nn.LayerNorm(8)))

    def kinds() -> set[type]:
        return {type(part.kernels) for part in model.modules() if hasattr(part, "kernels")}

    assert kinds() == {type(TORCH)}, "until it is finished"
    for device, kernels in (("cpu", cpu.CPUKernels), ("meta", type(TORCH))):
        model.to(device)
        assert kinds() == {kernels}
