"""Training on a GPU: fairseq's numbers in fewer operations, and fewer waits for them.

The GPU is that of ``fake_gpu.py``.
"""

import inspect
import subprocess
import sys
from collections.abc import Iterator
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

OPTIONS: dict[str, Any] = {"lr": 0.01, "betas": (0.9, 0.98), "weight_decay": 0.1}


class StockAdam(Adam):
    """As fairseq has it."""

    step = inspect.unwrap(Adam.step)


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3, bias=False))


def gradients(number: int) -> list[torch.Tensor]:
    torch.manual_seed(number)
    return [torch.randn_like(p) for p in network().parameters()]


def test_adam_steps_all_parameters_at_once_as_fairseq_does_and_reads_its_checkpoints():
    host, device = network(), network()
    module_to_gpu(device)
    theirs = StockAdam(host.parameters(), **OPTIONS)
    ours = Adam(device.parameters(), **OPTIONS)
    with present() as count:
        for number in range(6):
            if number == 3:  # a checkpoint of fairseq's is resumed from
                state = theirs.state_dict()
                ours = Adam(device.parameters(), **OPTIONS)
                ours.load_state_dict(state)
            for p, q, grad in zip(host.parameters(), device.parameters(), gradients(number)):
                p.grad, q.grad = grad.clone(), to_gpu(grad.clone())
            if number == 4:  # one that has not been used
                next(iter(host.parameters())).grad = next(iter(device.parameters())).grad = None
            theirs.step()
            count.clear()
            ours.step()
            created = 2 * len(gradients(0)) if number == 0 else 0  # the state
            assert sum(count.operations.values()) <= 4 + created and not count.waits
        assert_near([p.values for p in device.parameters()], list(host.parameters()))
        steps = [{state["step"] for state in kept.state.values()} for kept in (ours, theirs)]
        assert steps[0] == steps[1] == {5, 6}
        ours.state_dict()


@pytest.mark.parametrize("most", [0.0, 0.5, 1e6])
def test_the_norm_of_gradients_is_waited_for_once(most):
    host, device = network(), network()
    module_to_gpu(device)
    for p, q, grad in zip(host.parameters(), device.parameters(), gradients(1)):
        p.grad, q.grad = grad.clone(), to_gpu(grad.clone())
    expected = utils.clip_grad_norm_(list(host.parameters()), most)
    with present() as count:
        norm = utils.clip_grad_norm_(list(device.parameters()), most)
        assert norm.device.type == "cpu" and torch.isfinite(norm)
        assert sum(count.waits.values()) == 1 and sum(count.operations.values()) <= 9
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
        unused = next(model.parameters())
        for number in range(4):
            optimizer.zero_grad()
            torch.manual_seed(number)
            optimizer.backward(model(torch.randn(4, 5).bfloat16()).float().pow(2).sum())
            if number == 2:
                unused.grad = None
            optimizer.multiply_grads(0.5)
            optimizer.clip_grad_norm(1.0)
            optimizer.step()
        return [*(p.detach() for p in model.parameters()), *optimizer.fp32_params]

    ours = trained()
    for name in ("_sync_fp16_grads_to_fp32", "_sync_fp32_params_to_fp16"):
        monkeypatch.setattr(FP16Optimizer, name, inspect.unwrap(getattr(FP16Optimizer, name)))
    monkeypatch.setattr(Adam, "step", inspect.unwrap(Adam.step))
    assert all(torch.equal(p, q) for p, q in zip(ours, trained(), strict=True))


@pytest.fixture
def meters() -> Iterator[None]:
    metrics.reset()
    yield
    metrics.reset()


def test_logs_are_fetched_together_when_a_meter_is_read(meters):
    def reduce_metrics(logs: list[dict[str, Any]], criterion: object) -> None:
        metrics.log_scalar("loss", sum(log["loss"] for log in logs), 2, round=3)
        metrics.log_scalar("right", sum(log["right"] for log in logs), 1)

    task = SimpleNamespace(reduce_metrics=reduce_metrics)
    cfg = SimpleNamespace(optimization=SimpleNamespace(clip_norm=1.0))

    def updates(cuda: bool) -> list[Any]:
        move = to_gpu if cuda else (lambda value: value)
        trainer = SimpleNamespace(
            cuda=cuda, task=task, cfg=cfg, tpu=False, get_criterion=lambda: None
        )
        shown: list[Any] = []
        for number in range(1, 7):
            logs = [
                {"loss": move(torch.tensor(1.5 * number)), "right": move(torch.tensor(part))}
                for part in range(2)
            ]
            with metrics.aggregate("train"), metrics.aggregate("train_inner"):
                Trainer._reduce_and_log_stats(trainer, logs, 2.0, torch.tensor(float(number)))
            if number % 3 == 0:
                shown.append(dict(metrics.get_smoothed_values("train_inner")))
                metrics.reset_meters("train_inner")
        shown += [dict(metrics.get_smoothed_values("train")), metrics.state_dict().keys()]
        return [{k: v for k, v in figures.items() if k != "ups"} for figures in shown[:-1]] + shown[
            -1:
        ]

    expected = updates(False)
    metrics.reset()
    with present() as count:
        logged = updates(True)
        # the first update, and twice what was read: a kind of number each
        assert sum(count.waits.values()) == 3 * 2, count.waits
    assert logged == expected


@pytest.mark.parametrize(
    ("variable", "capability", "free"),
    [
        ({}, (9, 0), True),
        ({}, (7, 5), False),
        ({"NVIDIA_TF32_OVERRIDE": "0"}, (9, 0), False),
        ({"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "0"}, (9, 0), False),
    ],
    ids=str,
)
def test_tf32_is_for_gpus_that_have_it_where_torch_was_told_nothing(
    monkeypatch, variable, capability, free
):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    assert torch.get_float32_matmul_precision() == "highest"
    try:
        assert cuda.may_use_tf32() == free
        torch.set_float32_matmul_precision("medium")  # a user's
        assert not cuda.may_use_tf32()
    finally:
        torch.set_float32_matmul_precision("highest")
        if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
            torch.backends.cuda.matmul.fp32_precision = "none"


@pytest.mark.parametrize("modules", ["fairseq, lev_plugins", "lev_plugins.inference"])
def test_attention_of_cudnn_is_off_in_every_process_that_registers_the_package(modules):
    code = f"import {modules}, torch; print(torch.backends.cuda.cudnn_sdp_enabled())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]


@pytest.mark.parametrize(("asked", "precision"), [(None, "high"), ("0", "highest")])
def test_a_training_uses_tf32_unless_it_is_forbidden_and_says_so(
    monkeypatch, caplog, asked, precision
):
    monkeypatch.delenv(cuda.TF32_ENV, raising=False)
    if asked:
        monkeypatch.setenv(cuda.TF32_ENV, asked)
    caplog.set_level("INFO")
    try:
        cuda.choose_precision()
        assert torch.get_float32_matmul_precision() == precision
        assert ("TF32" in caplog.text) == (precision == "high")
    finally:
        torch.set_float32_matmul_precision("highest")
        if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
            torch.backends.cuda.matmul.fp32_precision = "none"
