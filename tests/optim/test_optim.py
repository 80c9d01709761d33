"""Optimizers whose groups differ, and a learning rate that follows the time."""

from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from fairseq.dataclass.configs import FairseqConfig
from fairseq.optim.adam import Adam, FairseqAdam, FairseqAdamConfig
from fairseq.optim.fp16_optimizer import FP16Optimizer
from omegaconf import OmegaConf
from refusals import refuses
from torch import nn

from lev_plugins.optim.backbone_adam import BackboneAdam, BackboneAdamConfig, mark_backbone
from lev_plugins.optim.muon import Muon, MuonConfig, mark_hidden_matrices, orthogonalized
from lev_plugins.optim.time_budget import TimeBudget, TimeBudgetConfig
from tests.closeness import assert_near

pytestmark = [pytest.mark.device, pytest.mark.kernels]
MATRICES = ("wide.weight", "tall.weight")
LOADED = ("table.weight", "wide.weight", "wide.bias")


def config(kind=MuonConfig, **changes):
    name = "muon" if kind is MuonConfig else "backbone_adam"
    values = {"lr": [0.01], "adam_betas": "(0.9, 0.98)", "tpu": False, "_name": name}
    values |= {"bf16": False} if kind is MuonConfig else {}
    return OmegaConf.merge(OmegaConf.structured(kind), {**values, **changes})


def backbone(ratio: float):
    return config(BackboneAdamConfig, backbone_lr_ratio=ratio)


class Model(nn.Module):
    def __init__(self, of_backbone: bool = False) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.table, self.norm = nn.Embedding(20, 8), nn.LayerNorm(8)
        self.wide, self.tall, self.out = nn.Linear(8, 12), nn.Linear(12, 8), nn.Linear(8, 20)
        if of_backbone:
            mark_backbone(self.get_parameter(name) for name in LOADED)
        else:
            mark_hidden_matrices(self)

    def loss(self, seed: int):
        tokens = tiny.moved(torch.arange(5, device="cpu") * seed)
        hidden = self.norm(self.tall(self.wide(self.table(tokens)).relu()))
        return self.out(hidden).log_softmax(-1)[:, 0].sum().neg()


def train(model, optimizer) -> None:
    optimizer.backward(model.loss(1))
    optimizer.step()


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4)])
def test_an_orthogonalized_matrix_is_near_to_that_of_its_singular_vectors(shape):
    matrices = tiny.normal(1, 3, *shape)
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)
    inner = u.transpose(1, 2) @ orthogonalized(matrices) @ v.transpose(1, 2)
    diagonal = inner.diagonal(dim1=1, dim2=2)
    # diagonal where the vectors are kept; a GPU computes in bf16
    share = 1e-4 if matrices.device.type == "cpu" else 0.05
    assert (inner - torch.diag_embed(diagonal)).norm() < share * diagonal.norm()
    assert 0.5 < diagonal.min() and diagonal.max() < 1.3


def test_hidden_matrices_alone_move_by_the_size_asked_for_and_the_others_as_by_adam():
    ours, other, started = Model(), Model(), Model()
    optimizer, resumed = (Muon(config(muon_update_rms=r), ours.parameters()) for r in (0.5, 0.2))
    train(ours, optimizer)
    for p in (ours.wide.weight, ours.tall.weight):
        assert_near(optimizer._optimizer.state[p]["momentum_buffer"], 0.05 * p.grad)
    rest = [p for n, p in other.named_parameters() if n not in MATRICES]
    other.loss(1).backward()
    Adam(rest, lr=0.01, betas=(0.9, 0.98)).step()
    for name, value in ours.named_parameters():
        if name in MATRICES:
            moved = value - started.get_parameter(name)
            assert 0.6 < moved.square().mean().sqrt() / (0.01 * 0.5) < 1.3
        else:
            assert torch.equal(value, other.get_parameter(name)), name
    resumed.load_state_dict(optimizer.state_dict(), resumed.optimizer_config)
    assert resumed.param_groups[1]["update_rms"] == 0.2, "the option's"


@pytest.mark.parametrize("trace", [False, True])
def test_a_single_row_is_no_matrix_whatever_table_has_its_shape(trace):
    task, flags = tiny.task(joined=True), {"source_pointer": True, "share_all_embeddings": True}
    model = tiny.model(task, deletion_trace=trace, **flags)
    mark_hidden_matrices(model)
    named = model.named_parameters()
    marked = {name for name, each in named if getattr(each, "param_group", None)}
    assert {"pointer.query.weight", "pointer.key.weight"} <= marked
    assert "pointer.scale.weight" not in marked


def test_pre_trained_parameters_have_a_share_of_the_rate_and_may_stay():
    model = Model(of_backbone=True)
    optimizer = BackboneAdam(backbone(0.0), list(model.parameters()))
    train(model, optimizer)
    for name, value in model.named_parameters():
        assert torch.equal(value, Model().get_parameter(name)) == (name in LOADED), name
    resumed = BackboneAdam(backbone(0.5), list(model.parameters()))
    resumed.load_state_dict(optimizer.state_dict(), resumed.optimizer_config)
    assert resumed.state_dict()["state"].keys() == optimizer.state_dict()["state"].keys() != set()
    resumed.set_lr(0.02)
    assert [group["lr"] for group in resumed.param_groups] == [0.02, 0.01]
    assert resumed.get_lr() == 0.02
    cfg = OmegaConf.structured(FairseqConfig())
    cfg.common.bf16, cfg.optimizer = True, backbone(0.1)
    wrapped = FP16Optimizer.build_optimizer(cfg, list(model.bfloat16().parameters()))
    wrapped.set_lr(1.0)
    assert sorted(group["lr"] for group in wrapped.fp32_optimizer.param_groups) == [0.1, 1.0]


# a schedule of time ---------------------------------------------------------------------------

HOUR = 3600.0


class Clock:
    """Seconds that pass when a test says so."""

    now = 1e6

    def __call__(self) -> float:
        return self.now


def schedule(clock: Clock | None, **options: Any) -> TimeBudget:
    values = {"lr": [1.0], "stop_time_hours": 1.0, **options}
    cfg = OmegaConf.merge(OmegaConf.structured(TimeBudgetConfig), values)
    adam = OmegaConf.merge(OmegaConf.structured(FairseqAdamConfig), {"lr": [1.0], "tpu": False})
    parameters = [torch.nn.Parameter(torch.zeros(1))]
    return TimeBudget(cfg, FairseqAdam(adam, parameters), clock)


@pytest.mark.parametrize("share, rate", [(0, 0), (0.1, 0.5), (0.2, 1), (0.6, 0.5), (1, 0), (3, 0)])
def test_the_rate_rises_and_falls_in_straight_lines(share: float, rate: float) -> None:
    time_budget = schedule(Clock(), warmup_share=0.2)
    time_budget.clock.now += share * HOUR
    assert time_budget.step_update(1) == time_budget.optimizer.get_lr() == pytest.approx(rate)
    assert time_budget.optimizer.time_share == pytest.approx(min(share, 1))


def test_time_before_a_break_counts_and_the_break_does_not() -> None:
    first = schedule(Clock())
    first.clock.now += 0.5 * HOUR
    state = first.state_dict()
    for hours, share in ((1.0, 0.5), (2.0, 0.25)):
        second = schedule(Clock(), stop_time_hours=hours)
        second.clock.now += 5  # the model is built before the checkpoint is read
        second.load_state_dict(state)
        second.step_update(9)
        assert second.optimizer.time_share == pytest.approx(share)
    second.load_state_dict({"best": 1.5})  # of another schedule
    assert second.seconds == 0 and second.best == 1.5


@pytest.mark.parametrize("processor, counted", [(False, 0.25), (True, 0.5)])
def test_several_processes_follow_the_time_that_they_agree_on(processor, counted) -> None:
    """Each counts its own; the work of all processors is as many times as much."""
    time_budget = schedule(Clock(), processor_time=processor)
    time_budget.begin_training(SimpleNamespace(data_parallel_world_size=2, lr_step_update=list))
    time_budget.clock.now += 0.25 * HOUR
    time_budget.step_update(1)
    assert time_budget.optimizer.time_share == 0, "nothing is agreed on yet"
    assert time_budget.own_seconds() == time_budget.state_dict()["seconds"] == counted * HOUR
    time_budget.agree(0.5 * HOUR)
    time_budget.step_update(2)
    assert time_budget.optimizer.time_share == 0.5


@pytest.mark.parametrize(
    "optimizer, model, cfg, named",
    [
        (Muon, Model(), config(fp16_adam_stats=True), "--fp16-adam-stats"),
        (Muon, nn.LayerNorm(2), config(), "--optimizer"),
        (BackboneAdam, nn.LayerNorm(2), backbone(0.1), "--backbone"),
    ],
)
def test_an_optimizer_refuses_what_it_cannot_do(optimizer, model, cfg, named):
    """Numbers out of range: tests/fairseq_patches/test_trainings.py."""
    with refuses(named):
        optimizer(cfg, list(model.parameters()))
