"""Muon: hidden matrices get orthogonal updates, everything else fairseq's Adam."""

from argparse import Namespace

import pytest
import torch
from fairseq import optim
from fairseq.optim.adam import Adam
from omegaconf import OmegaConf
from torch import nn

from lev_plugins import UserError
from lev_plugins.optim import MuonConfig, muon
from lev_plugins.optim.muon import HIDDEN, Muon, mark_hidden_matrices, orthogonalized
from tests.closeness import assert_near


def config(**changes):
    values = {"lr": [0.01], "adam_betas": "(0.9, 0.98)", "tpu": False, "bf16": False}
    values.update({"_name": "muon", **changes})
    return OmegaConf.merge(OmegaConf.structured(MuonConfig), values)


class Model(nn.Module):
    def __init__(self, dtype=torch.float32) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.table, self.norm = nn.Embedding(20, 8), nn.LayerNorm(8)
        self.wide, self.tall, self.out = nn.Linear(8, 12), nn.Linear(12, 8), nn.Linear(8, 20)
        self.to(dtype)
        mark_hidden_matrices(self)

    def loss(self, seed: int):
        tokens = torch.randint(20, (5,), generator=torch.Generator().manual_seed(seed))
        hidden = self.norm(self.tall(self.wide(self.table(tokens)).relu()))
        return self.out(hidden).log_softmax(-1)[:, 0].sum().neg()


def train(model, optimizer, seeds) -> None:
    for seed in seeds:
        optimizer.zero_grad()
        optimizer.backward(model.loss(seed))
        optimizer.step()


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4)])
def test_an_orthogonalized_matrix_is_near_to_that_of_its_singular_vectors(shape):
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(1))
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)
    found = orthogonalized(matrices)
    inner = u.transpose(1, 2) @ found @ v.transpose(1, 2)  # diagonal where the vectors are kept
    diagonal = inner.diagonal(dim1=1, dim2=2)
    assert_near(inner, torch.diag_embed(diagonal))
    assert 0.5 < diagonal.min() and diagonal.max() < 1.3


@pytest.mark.parametrize(("half", "tiles"), [(True, True), (True, False), (False, True)])
def test_half_precision_is_for_trainings_in_it_on_cpus_that_are_fast_at_it(
    monkeypatch, half, tiles
):
    monkeypatch.setattr(muon, "has_tiles", lambda: tiles)
    matrices = torch.randn(2, 24, 40, generator=torch.Generator().manual_seed(1))
    whole, found = orthogonalized(matrices), orthogonalized(matrices, half)
    assert torch.equal(found, whole) == (not (half and tiles))
    assert found.dtype == torch.float32
    # bf16 has 8 bits, and five iterations of two products each round
    assert (found - whole).norm() < 10 * 2**-8 * whole.norm()
    model = Model()
    asked: list[bool] = []
    monkeypatch.setattr(muon, "orthogonalized", lambda x, h: asked.append(h) or x)
    train(model, Muon(config(bf16=half), model.parameters()), [1])
    assert asked == [half] * 2


def test_only_matrices_of_hidden_layers_are_marked():
    model = Model()
    marked = {n for n, p in model.named_parameters() if getattr(p, "param_group", None) == HIDDEN}
    assert marked == {"wide.weight", "tall.weight"}


def test_hidden_matrices_move_by_the_size_asked_for_and_the_others_as_by_adam():
    ours, other = Model(), Model()
    train(ours, Muon(config(muon_update_rms=0.5), ours.parameters()), [1])
    rest = [p for n, p in other.named_parameters() if n not in ("wide.weight", "tall.weight")]
    adam = Adam(rest, lr=0.01, betas=(0.9, 0.98))
    other.loss(1).backward()
    adam.step()
    started = Model()
    for name, value in ours.named_parameters():
        if name in ("wide.weight", "tall.weight"):
            moved = value - started.get_parameter(name)
            assert 0.6 < moved.square().mean().sqrt() / (0.01 * 0.5) < 1.3
        else:
            assert torch.equal(value, other.get_parameter(name)), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_resumed_training_is_the_uninterrupted_one(dtype):
    def optimizer(model):
        if dtype == torch.float32:
            return Muon(config(), list(model.parameters()))
        common = Namespace(bf16=True, fp16_no_flatten_grads=False, fp16_scale_window=1)
        common.fp16_init_scale, common.threshold_loss_scale, common.min_loss_scale = 1, None, 0.1
        common.fp16_scale_tolerance = 0.0
        cfg = Namespace(common=common, optimizer=config())
        return optim.FP16Optimizer.build_optimizer(cfg, list(model.parameters()))

    whole, first, second = Model(dtype), Model(dtype), Model(dtype)
    train(whole, optimizer(whole), [1, 2, 3, 4])
    stopped = optimizer(first)
    train(first, stopped, [1, 2])
    second.load_state_dict(first.state_dict())
    resumed = optimizer(second)
    if dtype == torch.bfloat16:  # the fp32 copies are of the rounded parameters
        for own, kept in zip(resumed.fp32_params, stopped.fp32_params, strict=True):
            own.data.copy_(kept.data)
    state = stopped.state_dict()
    resumed.load_state_dict(state, Muon.optimizer_config.fget(Namespace(cfg=config())))
    train(second, resumed, [3, 4])
    for one, same in zip(whole.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, same)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"muon_momentum": 1.0}, "--muon-momentum 1.0"), ({"muon_update_rms": 0.0}, "rms 0.0")],
)
def test_options_out_of_range_are_refused(changes, message):
    with pytest.raises(UserError, match=message):
        Muon(config(**changes), Model().parameters())


def test_a_model_without_hidden_matrices_is_refused():
    with pytest.raises(UserError, match="--optimizer adam"):
        Muon(config(), list(nn.LayerNorm(2).parameters()))
