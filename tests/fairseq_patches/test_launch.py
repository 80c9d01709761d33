"""How trainings are started: in several processes on a CPU, in bf16, with whole settings."""

from typing import Any

import pytest
import torch
from fairseq import models, options
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed import utils as distributed_utils
from omegaconf import OmegaConf
from refusals import refuses

import lev_plugins  # noqa: F401  (works around fairseq's faults)

TORCHRUN = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "1"}
TCP = {"distributed_world_size": 2, "distributed_init_method": "tcp://127.0.0.1:29501"}


def training_config(**changes: Any) -> Any:
    """``FairseqConfig`` of a training here, ``distributed_training`` changed."""
    cfg = OmegaConf.structured(FairseqConfig())
    cfg.common.cpu = True
    cfg.task = {"_name": "translation", "data": "."}
    for name, value in changes.items():
        cfg.distributed_training[name] = value
    return cfg


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``call_main`` as ``fairseq-train`` calls it, without a GPU; gives what was started."""
    for name in (*TORCHRUN, "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)

    def run(cfg: Any, file: str = "fairseq_cli/train.py") -> list[Any]:
        names: dict[str, Any] = {"started": []}
        exec(compile("def main(cfg): started.append(cfg)", file, "exec"), names)
        distributed_utils.call_main(cfg, names["main"])
        return names["started"]

    return run


@pytest.mark.parametrize(
    "torchrun, settings",
    [(True, {}), (False, TCP), (False, {"distributed_world_size": 2})],
    ids=["each alone", "nothing", "unconnected"],
)
def test_processes_that_would_not_train_together_are_refused(
    launch, monkeypatch, torchrun, settings
):
    """Those that do: tests/commands/test_two_processes.py."""
    for name, value in TORCHRUN.items() if torchrun else ():
        monkeypatch.setenv(name, value)
    with refuses("torchrun --nproc_per_node 2", "--distributed-world-size 2"):
        launch(training_config(**settings))


def test_launches_on_gpus_pass(launch, monkeypatch):
    calls: list[Any] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.multiprocessing, "spawn", lambda **kwargs: calls.append(kwargs))
    launch(training_config(distributed_world_size=4, distributed_init_method="tcp://h:1"))
    assert [call["nprocs"] for call in calls] == [2]


def test_bf16_is_bf16(launch):
    words = ["data", "--arch", "transformer", "--optimizer", "adam", "--bf16"]
    args = options.parse_args_and_arch(options.get_training_parser(), words)
    (cfg,) = launch(convert_namespace_to_omegaconf(args))
    assert not (cfg.common.tpu or cfg.distributed_training.tpu or cfg.optimizer.tpu)
    assert cfg.common.bf16


def test_a_trainings_settings_are_whole_before_they_are_kept(launch, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model = models.ARCH_MODEL_REGISTRY["enct5"]
    monkeypatch.setattr(model, "settle", lambda cfg: setattr(cfg, "encoder_layers", 7))
    cfg = training_config()
    cfg.task.data = f".:{tmp_path}/b:s3"
    cfg.model = OmegaConf.structured(models.MODEL_DATACLASS_REGISTRY["enct5"](_name="enct5"))
    (cfg,) = launch(cfg)
    assert cfg.model.encoder_layers == 7
    assert cfg.task.data == f"{tmp_path}:{tmp_path}/b:s3", "folders that are there, and no others"
    cfg.checkpoint.write_checkpoints_asynchronously = True
    with refuses("--write-checkpoints-asynchronously"):
        launch(cfg)
    (other,) = launch(training_config(), "fairseq_cli/generate.py")
    assert other.task.data == ".", "other commands are left alone"
