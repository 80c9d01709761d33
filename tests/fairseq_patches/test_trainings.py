"""How trainings are started, what they look at when they begin, and whose signals end them."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from fairseq import checkpoint_utils, models, options
from fairseq.dataclass.configs import CheckpointConfig, FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed import utils as distributed_utils
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.optim.adafactor import Adafactor
from omegaconf import OmegaConf
from refusals import refuses
from saved import save

from lev_plugins.fairseq_patches.trainings import SIGNALS, watched

# how they are started -----------------------------------------------------------------------------

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


# what they begin with -----------------------------------------------------------------------------


@pytest.fixture
def seen(monkeypatch) -> list[Any]:
    """What looks at which checkpoint; the best of a training before is still known."""
    found: list[Any] = []
    kind = SimpleNamespace(
        check_resumed=lambda cfg, stored, path: found.append(("model", path)),
        begin_from=lambda stored, state, path: found.append(("begun", path)),
    )
    optimizer = SimpleNamespace(prepare_model=lambda model: found.append("optimizer"))
    monkeypatch.setitem(ARCH_MODEL_REGISTRY, "checked", kind)
    monkeypatch.setitem(OPTIMIZER_REGISTRY, "checked", optimizer)
    checkpoint_utils.save_checkpoint.best = 0.5
    return found


def begin(seen: list[Any], path: str, updates: int = 0, fail: str = "", **given: Any) -> Any:
    """The trainer of a training that begins; fairseq's says less of a failure than it has met."""

    def load_checkpoint(name: str, *resets: Any, **named: Any) -> None:
        checkpoint_utils.load_checkpoint_to_cpu(name)
        if fail:
            try:
                raise RuntimeError(fail)
            except RuntimeError:
                raise RuntimeError("please ensure that the architectures match")  # noqa: B904

    cfg = CheckpointConfig(save_dir=str(Path(path).parent), **given)
    named = {name: SimpleNamespace(_name="checked") for name in ("optimizer", "model")}
    looks = SimpleNamespace(
        datasets={}, check_resumed=lambda stored, path: seen.append(("task", path))
    )
    trainer = SimpleNamespace(
        cfg=SimpleNamespace(dataset=SimpleNamespace(train_subset="train"), checkpoint=cfg, **named),
        **{"checkpoint_suffix": "", "model": None, "lr_scheduler": None, "task": looks},
        get_model=lambda: ARCH_MODEL_REGISTRY["checked"],
        _previous_training_time=900,
        load_checkpoint=load_checkpoint,
        get_num_updates=lambda: updates,
        get_train_iterator=lambda **options: SimpleNamespace(epoch=1),
        lr_step=lambda epoch: None,
    )
    checkpoint_utils.load_checkpoint(cfg, trainer)
    return trainer


def test_model_task_and_optimizer_look_at_what_a_training_begins_with(seen, tmp_path):
    """What they make of it: tests/systems; a start that is no file: tests/commands."""
    tiny.dictionaries(tmp_path / "bin")
    path = str(save(tmp_path / "run" / "other.pt", tmp_path / "bin", "stock"))
    trainer = begin(seen, path, finetune_from_model=path)
    assert seen == ["optimizer", ("begun", path)]
    assert trainer._previous_training_time == 0, "the time of the other training is not its own"
    seen.clear()
    assert begin(seen, path, 7, restore_file=path)._previous_training_time == 900
    assert seen == ["optimizer", ("model", path), ("task", path)]
    assert not hasattr(checkpoint_utils.save_checkpoint, "best"), "of the training before"
    with refuses(path, "no such parameter"):
        begin(seen, path, fail="no such parameter", restore_file=path)


# Adafactor ----------------------------------------------------------------------------------------

STOCK = Adafactor.step.__wrapped__
T5X = {"lr": 1e-3, "scale_parameter": True, "relative_step": False}


def moves(**options: Any) -> tuple[list[float], float]:
    """How far each of four tensors of size 0.1 moves in a step, as a share of its size."""
    torch.manual_seed(3)
    tensors = [torch.nn.Parameter(torch.randn(8, 8) / 10) for _ in range(4)]
    optimizer = Adafactor(tensors, **options)
    before = [tensor.detach().clone() for tensor in tensors]
    for tensor in tensors:
        tensor.grad = torch.randn_like(tensor)
    optimizer.step()
    shares = [float((a - b).detach().norm() / b.norm()) for a, b in zip(tensors, before)]
    return shares, float(optimizer.param_groups[0]["lr"])


def test_adafactor_moves_each_tensor_by_the_learning_rate_times_its_size(monkeypatch):
    shares, lr = moves(**T5X)
    assert shares == pytest.approx([1e-3] * 4, rel=0.1) and lr == 1e-3
    others = [{**T5X, "scale_parameter": False}, {}]
    ours = [moves(**options) for options in others]
    monkeypatch.setattr(Adafactor, "step", STOCK)
    assert [moves(**options)[0] for options in others] == [one[0] for one in ours]
    shares, lr = moves(**T5X)
    assert shares[3] < shares[0] / 500 and lr < 1e-6, "fairseq's fault is gone"


# whose signals end them; what becomes of a training: tests/commands -------------------------------


@pytest.fixture
def as_before() -> Iterator[None]:
    """Signals act as in a shell within a test, and as before afterwards."""
    with watched(False):  # which ends what a training began in this process
        pass
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_act_as_before_behind_a_training_and_a_handler_of_the_users_stays(as_before):
    def theirs(*any: Any) -> None:
        pass

    term, other = SIGNALS
    with watched(True):
        assert signal.SIG_DFL not in (signal.getsignal(term), signal.getsignal(other))
        signal.raise_signal(other)
    assert signal.getsignal(term) == signal.getsignal(other) == signal.SIG_DFL
    signal.signal(other, theirs)
    with watched(True):
        assert signal.getsignal(other) == theirs != signal.getsignal(term)
    assert signal.getsignal(other) == theirs


def test_a_thread_handles_no_signals_and_the_status_of_spawned_processes_is_passed_on(as_before):
    def train() -> None:
        with watched(True):
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    for code, kind in ((143, SystemExit), (1, torch.multiprocessing.ProcessExitedException)):
        with pytest.raises(kind), watched(True):
            signal.raise_signal(signal.SIGTERM)
            raise torch.multiprocessing.ProcessExitedException("", 0, 1, code)
