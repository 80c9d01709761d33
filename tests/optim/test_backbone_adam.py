"""One learning rate for what is new, a share of it for what was pre-trained."""

from argparse import Namespace

import pytest
import torch
from fairseq import optim
from omegaconf import OmegaConf
from torch import nn

from lev_plugins import UserError
from lev_plugins.optim import BackboneAdamConfig
from lev_plugins.optim.backbone_adam import BackboneAdam, mark_backbone


def config(ratio: float = 0.1, lr: float = 0.01):
    values = {"backbone_lr_ratio": ratio, "lr": [lr], "tpu": False, "_name": "backbone_adam"}
    return OmegaConf.merge(OmegaConf.structured(BackboneAdamConfig), values)


def parts() -> tuple[nn.Linear, nn.Linear]:
    torch.manual_seed(1)
    loaded, new = nn.Linear(3, 3), nn.Linear(3, 2)
    mark_backbone(loaded.parameters())
    return loaded, new


def steps(optimizer, loaded, new, lrs) -> None:
    for lr in lrs:
        optimizer.set_lr(lr)
        optimizer.zero_grad()
        new(loaded(torch.ones(2, 3)).tanh()).square().sum().backward()
        optimizer.step()


def test_each_group_is_trained_as_by_an_adam_of_its_own_rate():
    loaded, new = parts()
    lrs = [0.01, 0.02, 0.005]
    steps(BackboneAdam(config(0.1), [*loaded.parameters(), *new.parameters()]), loaded, new, lrs)
    other_loaded, other_new = parts()
    first = torch.optim.Adam(other_loaded.parameters())
    second = torch.optim.Adam(other_new.parameters())
    for lr in lrs:
        for one, share in ((first, 0.1), (second, 1.0)):
            one.param_groups[0]["lr"] = lr * share
            one.zero_grad()
        other_new(other_loaded(torch.ones(2, 3)).tanh()).square().sum().backward()
        first.step(), second.step()
    for one, other in ((loaded, other_loaded), (new, other_new)):
        for a, b in zip(one.parameters(), other.parameters(), strict=True):
            assert torch.allclose(a, b, atol=1e-6)


def test_nothing_pre_trained_moves_at_a_ratio_of_zero():
    loaded, new = parts()
    before = [one.clone() for one in loaded.parameters()]
    optimizer = BackboneAdam(config(0.0), [*loaded.parameters(), *new.parameters()])
    steps(optimizer, loaded, new, [0.1, 0.1])
    assert all(torch.equal(a, b) for a, b in zip(before, loaded.parameters(), strict=True))


def test_the_rate_that_is_reported_is_that_of_new_parameters():
    loaded, new = parts()
    optimizer = BackboneAdam(config(0.1, lr=0.5), [*loaded.parameters(), *new.parameters()])
    assert optimizer.get_lr() == 0.5
    optimizer.set_lr(0.25)
    assert optimizer.get_lr() == 0.25
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.025]


def test_a_training_that_is_taken_up_has_the_ratio_given_now():
    loaded, new = parts()
    parameters = [*loaded.parameters(), *new.parameters()]
    first = BackboneAdam(config(0.1), parameters)
    steps(first, loaded, new, [0.01])
    second = BackboneAdam(config(0.5), parameters)
    second.load_state_dict(first.state_dict(), second.optimizer_config)
    second.set_lr(0.02)
    assert [group["lr"] for group in second.param_groups] == [0.02, 0.01]
    assert len(second.optimizer.state) == 4


def test_bf16_keeps_the_groups():
    loaded, new = (part.bfloat16() for part in parts())
    common = Namespace(bf16=True, fp16_no_flatten_grads=False, fp16_scale_window=1)
    common.fp16_init_scale, common.threshold_loss_scale, common.min_loss_scale = 1, None, 0.1
    common.fp16_scale_tolerance = 0.0
    cfg = Namespace(common=common, optimizer=config(0.1))
    half = optim.FP16Optimizer.build_optimizer(cfg, [*loaded.parameters(), *new.parameters()])
    half.set_lr(1.0)
    assert sorted(group["lr"] for group in half.fp32_optimizer.param_groups) == [0.1, 1.0]


def test_a_model_without_a_backbone_is_refused():
    with pytest.raises(UserError, match="--backbone DIRECTORY"):
        BackboneAdam(config(), list(nn.Linear(2, 2).parameters()))


@pytest.mark.parametrize("ratio", [-0.1, 1.5])
def test_a_ratio_that_is_no_share_is_refused(ratio):
    loaded, _ = parts()
    with pytest.raises(UserError, match="--backbone-lr-ratio"):
        BackboneAdam(config(ratio), list(loaded.parameters()))
