"""Layers compute as their device does best, wherever the model is moved."""

import pytest
import torch
from closeness import assert_near

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


@pytest.mark.kernels
def test_both_ways_give_the_same_states_and_gradients():
    torch.manual_seed(1)
    plain, x = encoder(), torch.randn(3, 7, 8)
    real = torch.arange(7) < torch.tensor([[7], [4], [2]])

    def outcome(model: EncoderBody) -> list[torch.Tensor]:
        model.zero_grad()
        out = model(x, real)[real]
        (out * torch.linspace(-1, 1, out.numel()).view_as(out)).sum().backward()
        return [out.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]

    assert_near(outcome(optimize(plain)), outcome(encoder_like(plain)), least=10)


def encoder_like(model: EncoderBody) -> EncoderBody:
    """The same parameters, by torch's functions."""
    copy = encoder()
    copy.load_state_dict(model.state_dict())
    return copy
