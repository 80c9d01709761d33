"""Layers compute as their device does best, wherever the model is moved."""

import torch

from lev_plugins.nn.backbone import EncoderBody
from lev_plugins.nn.backends import FollowsDevice, cpu, optimize
from lev_plugins.nn.kernels import TORCH
from lev_plugins.nn.transformer import BlockSize, TransformerBlock, TransformerStack


def encoder() -> EncoderBody:
    size = BlockSize(8, 2, 16, True, 0.0, 0.0, 0.0, "relu")
    stack = TransformerStack(TransformerBlock(size) for _ in range(2))
    return EncoderBody(stack, torch.nn.LayerNorm(8))


class Model(FollowsDevice, torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = encoder()


def kinds(model: torch.nn.Module) -> set[type]:
    return {type(part.kernels) for part in model.modules() if hasattr(part, "kernels")}


def test_a_model_follows_its_device():
    model = Model()
    assert kinds(model) == {type(TORCH)}, "until it is finished"
    for device, kernels in (("cpu", cpu.CPUKernels), ("meta", type(TORCH))):
        assert kinds(model.to(device)) == {kernels}
    assert kinds(optimize(encoder())) == {cpu.CPUKernels}
