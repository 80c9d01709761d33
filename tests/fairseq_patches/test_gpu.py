"""Training on a GPU: fairseq's numbers in fewer operations, and fewer waits for them.

The GPU is that of ``fake_gpu.py``.
"""

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from closeness import assert_near
from fairseq import utils
from fairseq.dataclass.configs import FairseqConfig
from fairseq.logging import metrics
from fairseq.optim.adam import Adam, FairseqAdamConfig
from fairseq.optim.fp16_optimizer import FP16Optimizer
from fairseq.trainer import Trainer
from omegaconf import OmegaConf
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
    with present() as count:
        for number in range(6):
            if number == 3:  # a checkpoint of fairseq's is resumed from
                state = theirs.state_dict()
                ours = Adam(device.parameters(), **OPTIONS)
                ours.load_state_dict(state)
            give_gradients(host, device, number)
            if number == 4:  # one that has not been used
                host[0].weight.grad = device[0].weight.grad = None
            theirs.step()
            count.clear()
            ours.step()
            created = 2 * 5 if number == 0 else 0  # the state
            assert count.operations.total() <= 4 + created and not count.waits
        assert_near([p.values for p in device.parameters()], list(host.parameters()))
        for optimizer in (ours, theirs):
            assert {state["step"] for state in optimizer.state.values()} == {5, 6}
        ours.state_dict()


@pytest.mark.parametrize("most", [0.0, 0.5, 1e6])
def test_the_norm_of_gradients_is_waited_for_once(most):
    host, device = networks()
    give_gradients(host, device, 1)
    expected = utils.clip_grad_norm_(list(host.parameters()), most)
    with present() as count:
        norm = utils.clip_grad_norm_(list(device.parameters()), most)
        assert norm.device.type == "cpu" and torch.isfinite(norm)
        assert count.waits.total() == 1 and count.operations.total() <= 9
    assert_near(norm, expected)
    assert_near([q.grad.values for q in device.parameters()], [p.grad for p in host.parameters()])


def test_parameters_in_half_precision_change_as_by_fairseq(monkeypatch):
    def trained() -> list[torch.Tensor]:
        model = network().bfloat16()
        cfg = OmegaConf.structured(FairseqConfig())
        cfg.common.bf16 = True
        adam = {"_name": "adam", "lr": [0.01], "adam_betas": "(0.9, 0.98)"}
        cfg.optimizer = OmegaConf.merge(OmegaConf.structured(FairseqAdamConfig()), adam)
        optimizer = FP16Optimizer.build_optimizer(cfg, list(model.parameters()))
        for number in range(4):
            optimizer.zero_grad()
            torch.manual_seed(number)
            optimizer.backward(model(torch.randn(4, 5).bfloat16()).float().pow(2).sum())
            if number == 2:  # one that has not been used
                model[0].weight.grad = None
            optimizer.multiply_grads(0.5)
            optimizer.clip_grad_norm(1.0)
            optimizer.step()
        return [*model.parameters(), *optimizer.fp32_params]

    ours = trained()
    for owner, name in (
        (FP16Optimizer, "_sync_fp16_grads_to_fp32"),
        (FP16Optimizer, "_sync_fp32_params_to_fp16"),
        (Adam, "step"),
    ):
        monkeypatch.setattr(owner, name, inspect.unwrap(getattr(owner, name)))
    assert all(map(torch.equal, ours, trained()))


def logged(cuda: bool) -> tuple[list[Any], int]:
    """The figures of six updates, read after three and at the end, and the waits of the host."""

    def reduce_metrics(logs: list[dict[str, Any]], criterion: Any) -> None:
        for name in logs[0]:
            metrics.log_scalar(name, sum(log[name] for log in logs), 2, round=3)

    trainer = SimpleNamespace(
        cuda=cuda,
        tpu=False,
        get_criterion=lambda: None,
        task=SimpleNamespace(reduce_metrics=reduce_metrics),
        cfg=OmegaConf.create({"optimization": {"clip_norm": 1.0}}),
    )
    shown = []
    metrics.reset()
    with present() as count:
        for number in range(1, 7):
            logs = []
            for part in range(2):
                log = {"loss": torch.tensor(1.5 * number), "right": torch.tensor(part)}
                logs.append({name: to_gpu(value) if cuda else value for name, value in log.items()})
            with metrics.aggregate("train"), metrics.aggregate("train_inner"):
                Trainer._reduce_and_log_stats(trainer, logs, 2.0, torch.tensor(float(number)))
            if number % 3 == 0:
                shown.append(dict(metrics.get_smoothed_values("train_inner"), ups=0))
                metrics.reset_meters("train_inner")
        shown.append(dict(metrics.get_smoothed_values("train"), ups=0))
        shown.append(metrics.state_dict().keys())
    metrics.reset()
    return shown, count.waits.total()


def test_logs_are_fetched_together_when_a_meter_is_read():
    (figures, waits), (expected, _) = logged(cuda=True), logged(cuda=False)
    assert figures == expected
    assert waits == 3 * 2, "for the first update and twice what was read: for each type of number"


@pytest.mark.parametrize(
    ("forbids", "capability", "precision"),
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
