"""How trainings are started: in several processes on a CPU, in bf16, with whole settings."""

import sys
from typing import Any

import pytest
import torch
from fairseq import models, options
from fairseq.dataclass.configs import DistributedTrainingConfig, FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed import utils as distributed_utils
from omegaconf import OmegaConf
from refusals import refuses

import lev_plugins  # noqa: F401  (works around fairseq's faults)

TORCHRUN = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "1"}


def training_config(**changes: Any) -> Any:
    """``FairseqConfig`` of a training here, ``distributed_training`` changed."""
    cfg = OmegaConf.structured(FairseqConfig())
    cfg.common.cpu = True
    cfg.task = {"_name": "translation", "data": "."}
    for name, value in changes.items():
        cfg.distributed_training[name] = value
    return cfg


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Calls of a stand-in for ``fairseq_cli.train.main``, on a machine without a GPU."""
    for name in (*TORCHRUN, "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    return []


def launch(cfg: Any, started: list[Any], stock: bool = False) -> None:
    """``call_main`` as ``fairseq-train`` calls it, or fairseq's without our checks."""
    namespace = {"started": started}
    exec(compile("def main(cfg): started.append(cfg)", "fairseq_cli/train.py", "exec"), namespace)
    call_main = distributed_utils.call_main
    (call_main.__wrapped__ if stock else call_main)(cfg, namespace["main"])


def set_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)


def test_torchrun_finds_its_place_on_a_cpu_where_fairseq_divides_by_zero(started, monkeypatch):
    set_torchrun(monkeypatch)
    infer = distributed_utils._infer_torch_distributed_launch_init
    with pytest.raises(ZeroDivisionError):
        infer.__wrapped__(DistributedTrainingConfig())
    cfg = DistributedTrainingConfig()
    infer(cfg)
    assert (cfg.distributed_world_size, cfg.distributed_rank, cfg.device_id) == (2, 1, 0)
    assert cfg.distributed_no_spawn and cfg.distributed_init_method == "env://"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    cfg.device_id = 7
    infer(cfg)
    assert cfg.device_id == 0, "with GPUs fairseq chooses"


TCP = {"distributed_world_size": 2, "distributed_init_method": "tcp://127.0.0.1:29501"}


@pytest.mark.parametrize(
    "torchrun, settings",
    [(True, {}), (False, TCP), (False, {"distributed_world_size": 2})],
    ids=["each alone", "nothing", "unconnected"],
)
def test_processes_that_would_not_train_together_are_refused(
    started, monkeypatch, torchrun, settings
):
    if torchrun:
        set_torchrun(monkeypatch)
    with refuses("torchrun --nproc_per_node 2", "--distributed-world-size 2"):
        launch(training_config(**settings), started)
    assert not started


def test_what_fairseq_does_with_them(started, monkeypatch):
    """``launch._check_launch`` can go once this fails."""
    launch(training_config(**TCP), started, stock=True)
    assert not started, "it starts no process, and says nothing"
    set_torchrun(monkeypatch)
    launch(training_config(), started, stock=True)
    assert len(started) == 1, "it trains each rank alone"


def test_launches_on_gpus_pass(started, monkeypatch):
    calls: list[Any] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.multiprocessing, "spawn", lambda **kwargs: calls.append(kwargs))
    launch(training_config(distributed_world_size=4, distributed_init_method="tcp://h:1"), started)
    assert [call["nprocs"] for call in calls] == [2]


def test_bf16_no_longer_means_a_tpu(started):
    words = ["data", "--arch", "transformer", "--optimizer", "adam", "--bf16"]
    args = options.parse_args_and_arch(options.get_training_parser(), words)
    assert args.tpu and distributed_utils.xm is None, "fairseq's fault is gone"
    cfg = convert_namespace_to_omegaconf(args)
    assert cfg.distributed_training.tpu and cfg.optimizer.tpu
    launch(cfg, started)
    assert not (cfg.common.tpu or cfg.distributed_training.tpu or cfg.optimizer.tpu)
    assert cfg.common.bf16


def test_a_trainings_settings_are_whole_before_they_are_kept(started, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model = models.ARCH_MODEL_REGISTRY["enct5"]
    monkeypatch.setattr(model, "settle", lambda cfg: setattr(cfg, "encoder_layers", 7))
    cfg = training_config()
    cfg.model = OmegaConf.structured(models.MODEL_DATACLASS_REGISTRY["enct5"](_name="enct5"))
    launch(cfg, started)
    assert cfg.task.data == str(tmp_path) and cfg.model.encoder_layers == 7
    cfg.checkpoint.write_checkpoints_asynchronously = True
    with refuses("--write-checkpoints-asynchronously"):
        launch(cfg, started)


def test_other_commands_are_left_alone(started, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-generate"])
    cfg = training_config()
    distributed_utils.call_main(cfg, started.append)
    assert started == [cfg] and cfg.task.data == "."
