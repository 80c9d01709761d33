"""Training on a GPU: fairseq's numbers without waits for them.

The GPU is that of ``fake_gpu.py``.
"""

import inspect

import pytest
import torch
from closeness import assert_near
from fairseq.optim.adam import Adam
from torch import nn

from lev_plugins.nn.backends import cuda
from tests.fake_gpu import module_to_gpu, present, to_gpu

OPTIONS = {"lr": 0.01, "betas": (0.9, 0.98), "weight_decay": 0.1}


class StockAdam(Adam):
    """As fairseq has it."""

    step = inspect.unwrap(Adam.step)


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3, bias=False))


def networks() -> tuple[nn.Sequential, nn.Sequential]:
    """The same on the host and on the device."""
    host, device = network(), network()
    module_to_gpu(device)
    return host, device


def give_gradients(host: nn.Module, device: nn.Module, seed: int) -> None:
    torch.manual_seed(seed)
    for p, q in zip(host.parameters(), device.parameters()):
        p.grad = torch.randn_like(p)
        q.grad = to_gpu(p.grad.clone())


def test_adam_steps_all_parameters_at_once_as_fairseq_does_and_reads_its_checkpoints():
    host, device = networks()
    theirs = StockAdam(host.parameters(), **OPTIONS)
    ours = Adam(device.parameters(), **OPTIONS)
    with present() as waits:
        for number in range(6):
            if number == 3:  # a checkpoint of fairseq's is resumed from
                state = theirs.state_dict()
                ours = Adam(device.parameters(), **OPTIONS)
                ours.load_state_dict(state)
            give_gradients(host, device, number)
            if number == 4:  # one that has not been used
                host[0].weight.grad = device[0].weight.grad = None
            theirs.step()
            waits.clear()
            ours.step()
            assert not waits
        assert_near([p.values for p in device.parameters()], list(host.parameters()))
        for optimizer in (ours, theirs):
            assert {state["step"] for state in optimizer.state.values()} == {5, 6}
        ours.state_dict()


@pytest.mark.parametrize(
    "forbids, capability, precision",
    [
        ("OTHER", (9, 0), "high"),
        ("OTHER", (7, 5), "highest"),
        ("NVIDIA_TF32_OVERRIDE", (9, 0), "highest"),
        ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", (9, 0), "highest"),
        (cuda.TF32_ENV, (9, 0), "highest"),
    ],
)
def test_tf32_is_for_gpus_that_have_it_where_nothing_else_was_asked_for(
    monkeypatch, forbids, capability, precision
):
    chosen = ["highest"]
    monkeypatch.setattr(torch, "set_float32_matmul_precision", chosen.append)
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: chosen[-1])
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setenv(forbids, "0")
    if cuda.may_use_tf32():
        cuda.choose_precision()
    assert chosen[-1] == precision
    chosen.append("medium")  # a user's
    assert not cuda.may_use_tf32()


def test_attention_of_cudnn_is_off_in_every_process_that_registers_the_package():
    assert not torch.backends.cuda.cudnn_sdp_enabled()
