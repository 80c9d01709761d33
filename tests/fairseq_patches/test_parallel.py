"""Ways to share gradients among processes: refused in one line where they cannot work.

Those that work: tests/commands/test_two_processes.py.
"""

import importlib.util
from argparse import Namespace

import pytest
from omegaconf import OmegaConf
from refusals import refuses
from test_trainings import launch as launch
from test_trainings import training_config

FAIRSCALE = importlib.util.find_spec("fairscale") is not None


def config(arch="transformer", optimizer="adam", **place):
    cfg = training_config(**place)
    cfg.model = OmegaConf.create({"_name": arch, "arch": arch})
    cfg.optimizer = OmegaConf.create({"_name": optimizer})
    return cfg


@pytest.mark.skipif(FAIRSCALE, reason="fairscale is installed")
@pytest.mark.parametrize(
    ("place", "flag"),
    [
        ({"ddp_backend": "fully_sharded"}, "--ddp-backend fully_sharded"),
        ({"ddp_backend": "slowmo"}, "--ddp-backend slowmo"),
        ({"zero_sharding": "os"}, "--zero-sharding os"),
    ],
)
def test_what_needs_a_library_that_is_not_there_is_refused(launch, place, flag):
    with refuses(flag, "fairscale", "pytorch_ddp"):
        launch(config(**place))
    assert len(launch(config(**place), "fairseq_cli/generate.py")) == 1


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        *(({"arch": arch}, "Model") for arch in ("levenshtein_editor", "enct5_tiny")),
        ({"optimizer": "muon"}, "Muon"),
        ({"optimizer": "backbone_adam"}, "Adam"),
    ],
)
def test_our_models_and_optimizers_are_not_sharded(launch, monkeypatch, settings, name):
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: Namespace())  # were it there
    with refuses("--ddp-backend fully_sharded", name, "pytorch_ddp"):
        launch(config(ddp_backend="fully_sharded", **settings))
    assert len(launch(config(ddp_backend="fully_sharded"))) == 1


@pytest.mark.parametrize("backend", ["pytorch_ddp", "c10d", "legacy_ddp", "no_c10d"])
def test_what_works_is_started(launch, backend):
    assert len(launch(config("levenshtein_editor", ddp_backend=backend))) == 1
