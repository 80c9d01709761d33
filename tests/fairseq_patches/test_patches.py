"""Each fault of fairseq that we work around: it is there, and our commands do not meet it."""

import importlib.util
import io
import logging
import os
import pickle
import random
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils, options
from fairseq.dataclass.configs import DistributedTrainingConfig, FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed import utils as distributed_utils
from omegaconf import OmegaConf
from saved import Malicious

import lev_plugins
from lev_plugins import fairseq_patches as patches
from lev_plugins.errors import UserError

PACKAGE = Path(lev_plugins.__file__).parent
BIN = Path(sys.executable).parent
TINY = (
    "--arch transformer --encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 8 "
    "--decoder-embed-dim 8 --encoder-ffn-embed-dim 8 --decoder-ffn-embed-dim 8 "
    "--encoder-attention-heads 1 --decoder-attention-heads 1 --optimizer adam --lr 0.01 "
    "--criterion cross_entropy --batch-size 8 --cpu --log-format simple --log-interval 1"
)
TWO = "--distributed-backend gloo --distributed-world-size 2 --ddp-backend legacy_ddp"
TORCHRUN = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "1"}


def run(command: str, cwd: Path, stdin: bytes = b"") -> SimpleNamespace:
    """A real command in a folder: ``code``, ``out`` and ``err``."""
    words = command.split()
    if (BIN / words[0]).exists():
        words[0] = str(BIN / words[0])
    environment = {name: value for name, value in os.environ.items() if name not in TORCHRUN}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        words, cwd=cwd, input=stdin, capture_output=True, timeout=600, env=environment, check=False
    )
    return SimpleNamespace(
        code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode("utf-8", "replace")
    )


def plugin(command: str, cwd: Path, stdin: bytes = b"") -> SimpleNamespace:
    """A fairseq command with the plug-in loaded."""
    return run(f"{command} --user-dir {PACKAGE}", cwd, stdin)


def error_line(result: SimpleNamespace) -> str:
    """The one line a refused command ends in."""
    assert result.code == 1
    assert "Traceback" not in result.err
    lines = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and result.err.rstrip().endswith(lines[0])
    return lines[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``bin``: 24 training, 11 validation and 5 test pairs over twelve words."""
    from fairseq_cli import preprocess

    path = tmp_path_factory.mktemp("compat")
    rng = random.Random(7)
    for name, size in (("train", 24), ("valid", 11), ("test", 5)):
        lines = [
            " ".join(rng.choices([f"w{i}" for i in range(12)], k=rng.randint(4, 9)))
            for _ in range(size)
        ]
        for language in ("en", "de"):
            (path / f"{name}.{language}").write_text("\n".join(lines) + "\n")
    flags = f"--source-lang en --target-lang de --joined-dictionary --destdir {path}/bin"
    flags += "".join(f" --{name}pref {path}/{name}" for name in ("train", "valid", "test"))
    preprocess.main(options.get_preprocessing_parser().parse_args(flags.split()))
    return path


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Path:
    """A stock transformer, trained for three updates with ``--eval-bleu``, data path relative."""
    done = plugin(f"fairseq-train bin {TINY} --eval-bleu --max-update 3 --save-dir ck", folder)
    assert done.code == 0, done.err
    return folder / "ck" / "checkpoint_last.pt"


@pytest.fixture
def strict_torch():
    """Torch as it is without our list of allowed classes."""
    allowed = torch.serialization.get_safe_globals()
    torch.serialization.clear_safe_globals()
    yield
    torch.serialization.add_safe_globals(allowed)


# checkpoints


def test_without_the_list_fairseq_cannot_read_its_own_checkpoint(checkpoint, strict_torch):
    with pytest.raises(pickle.UnpicklingError, match="[Ww]eights only"):
        checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
    torch.serialization.add_safe_globals([Namespace])
    with pytest.raises(pickle.UnpicklingError, match="numpy"):
        checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))


def test_a_checkpoint_loads_and_remembers_where_its_data_are(checkpoint, tmp_path, monkeypatch):
    state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
    assert state["cfg"].task.data == str(checkpoint.parent.parent / "bin")
    counts = [meter for meter in state["extra_state"]["metrics"]["valid"] if "bleu" in meter[1]]
    assert counts, "no metrics of --eval-bleu in the checkpoint: nothing was tested"
    monkeypatch.chdir(tmp_path)
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([str(checkpoint)])
    assert len(models) == 1
    assert len(task.source_dictionary) == models[0].encoder.embed_tokens.num_embeddings


@pytest.mark.parametrize(
    "value",
    [np.arange(3), np.float64(0.5), np.float32(1.5), np.int64(3), np.bool_(True), np.ones((2, 2))],
)
def test_numbers_of_numpy_survive_a_checkpoint(value):
    buffer = io.BytesIO()
    torch.save({"metric": value}, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=True)["metric"]
    assert type(loaded) is type(value)
    np.testing.assert_array_equal(loaded, value)


def test_an_array_of_objects_that_would_run_a_command_is_still_refused(tmp_path):
    path, victim = tmp_path / "evil.pt", tmp_path / "victim"
    torch.save({"metric": np.array([Malicious(victim)], dtype=object)}, path)
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=True)
    assert not victim.exists()


def test_generating_and_validating_read_it_and_log_no_debug_lines(checkpoint, folder):
    flags = f"bin --path {checkpoint} --cpu --batch-size 2 --required-batch-size-multiple 1"
    made = plugin(f"fairseq-generate {flags} --scoring ter --gen-subset test --beam 1", folder)
    assert made.code == 0, made.err
    assert sorted(line[:3] for line in made.out.splitlines() if line[:2] == "H-") == [
        f"H-{i}" for i in range(5)
    ]
    assert "TER = " in made.out and "|tok:tercom|" in made.out
    assert "INFO:fairseq_cli.generate:Translated 5 sentences" in made.err
    assert "DEBUG" not in made.err
    checked = plugin(f"fairseq-validate {flags} --task translation", folder)
    assert checked.code == 0, checked.err
    assert "valid on 'valid' subset | loss" in checked.out


def test_data_paths_become_absolute_where_they_exist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    cfg = OmegaConf.create({"data": f"a:{tmp_path}/b:missing"})
    OmegaConf.set_struct(cfg, True)
    patches.absolute_data_paths(cfg)
    assert cfg.data == f"{tmp_path}/a:{tmp_path}/b:missing"
    for untouched in ("", None, "s3://bucket/a"):
        namespace = Namespace(data=untouched)
        patches.absolute_data_paths(namespace)
        assert namespace.data == untouched
    patches.absolute_data_paths(Namespace())


# several processes


def training_config(**changes: Any) -> Any:
    """``FairseqConfig`` of a training here, ``distributed_training`` changed."""
    cfg = OmegaConf.structured(FairseqConfig())
    cfg.common.cpu = not torch.cuda.is_available()
    cfg.task = {"_name": "translation", "data": "nowhere"}
    for name, value in changes.items():
        cfg.distributed_training[name] = value
    return cfg


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Calls of a stand-in for ``fairseq_cli.train.main``, on a machine without a GPU."""
    for name in (*TORCHRUN, "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    return []


@pytest.fixture
def spawned(started: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Calls of a stand-in for what spawns processes, on a machine with two GPUs."""
    calls: list[Any] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.multiprocessing, "spawn", lambda **kwargs: calls.append(kwargs))
    return calls


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


def test_with_gpus_fairseqs_own_choice_of_device_stands(started, monkeypatch):
    set_torchrun(monkeypatch)
    monkeypatch.setenv("RANK", "7")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    cfg = DistributedTrainingConfig()
    distributed_utils._infer_torch_distributed_launch_init(cfg)
    assert (cfg.device_id, cfg.distributed_rank) == (3, 7)


def test_launches_on_gpus_pass_unchecked(started, spawned, monkeypatch):
    cfg = training_config(distributed_world_size=4, distributed_init_method="tcp://host:1")
    launch(cfg, started)
    assert [call["nprocs"] for call in spawned] == [2]
    set_torchrun(monkeypatch)
    launch(training_config(), started)
    assert len(started) == 1


def test_ranks_that_would_train_alone_are_refused(started, monkeypatch):
    set_torchrun(monkeypatch)
    launch(training_config(), started, stock=True)
    assert len(started) == 1, "fairseq's fault is gone: it no longer trains each rank alone"
    with pytest.raises(UserError, match=r"alone.* torchrun --nproc_per_node 2 .*world-size 2"):
        launch(training_config(), started)
    assert len(started) == 1


def test_a_launch_that_would_train_nothing_is_refused(started):
    settings = {
        "distributed_world_size": 2,
        "distributed_init_method": "tcp://127.0.0.1:29501",
        "ddp_backend": "legacy_ddp",
        "distributed_backend": "gloo",
    }
    launch(training_config(**settings), started, stock=True)
    assert not started, "fairseq's fault is gone: it no longer starts zero processes"
    with pytest.raises(UserError, match="trains nothing.*--distributed-no-spawn.*torchrun"):
        launch(training_config(**settings), started)
    with pytest.raises(UserError, match="trains nothing"):
        launch(training_config(**settings | {"distributed_world_size": 1}), started)
    assert not started


def test_a_world_of_two_without_a_launcher_is_refused(started):
    settings = {"distributed_world_size": 2, "ddp_backend": "legacy_ddp"}
    with pytest.raises(AssertionError, match="available devices"):
        launch(training_config(**settings), started, stock=True)
    with pytest.raises(UserError, match="starts no process.*torchrun"):
        launch(training_config(**settings), started)
    with pytest.raises(UserError, match="starts no process"):
        launch(training_config(**settings, distributed_port=29502), started)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"distributed_backend": "gloo"}, "--ddp-backend pytorch_ddp"),
        ({"ddp_backend": "legacy_ddp"}, "--distributed-backend nccl"),
    ],
)
def test_backends_that_need_a_gpu_are_refused(started, monkeypatch, settings, named):
    set_torchrun(monkeypatch)
    with pytest.raises(UserError, match=f"{named} .*--ddp-backend legacy_ddp"):
        launch(training_config(distributed_world_size=2, **settings), started)
    assert not started


@pytest.mark.parametrize("backend", ["fully_sharded", "slowmo"])
def test_fairscale_is_asked_for_before_anything_is_built(started, spawned, monkeypatch, backend):
    settings = {"distributed_world_size": 2, "distributed_init_method": "tcp://host:1"}
    cfg = training_config(**settings, ddp_backend=backend)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=f"--ddp-backend {backend} needs the library fairscale"):
        launch(cfg, started)
    assert not spawned
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    launch(cfg, started)
    assert len(spawned) == 1


def test_nothing_is_sharded_in_one_process(started, monkeypatch):
    with pytest.raises(UserError, match="fully_sharded shards .* several GPUs.*leave the option"):
        launch(training_config(ddp_backend="fully_sharded"), started)
    assert not started
    launch(training_config(ddp_backend="slowmo"), started)  # fairseq leaves it out
    assert len(started) == 1


def test_pytorch_ddp_still_cannot_train_on_a_cpu(tmp_path):
    from fairseq.models.distributed_fairseq_model import DistributedFairseqModel

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1
    )
    try:
        with pytest.raises((ValueError, RuntimeError, AssertionError)):
            DistributedFairseqModel(
                Namespace(**vars(DistributedTrainingConfig(ddp_backend="pytorch_ddp", tpu=False))),
                torch.nn.Linear(2, 2),
                process_group=torch.distributed.group.WORLD,
                device=torch.device("cpu"),
            )
    finally:
        torch.distributed.destroy_process_group()


def test_hydra_ranks_that_were_never_connected_are_refused(started, monkeypatch):
    set_torchrun(monkeypatch)
    monkeypatch.setattr(sys, "argv", ["/somewhere/fairseq-hydra-train"])
    monkeypatch.setattr(distributed_utils, "call_main", distributed_utils.call_main)
    with pytest.raises(UserError, match=r"distributed_training.distributed_rank='\$\{oc.env:RANK"):
        patches.check_launches()


def test_a_refused_launch_is_one_line_and_writes_nothing(folder):
    result = plugin(f"fairseq-train bin {TINY} {TWO} --save-dir none --max-update 1", folder)
    assert "torchrun --nproc_per_node 2" in error_line(result)
    assert not (folder / "none").exists()


@pytest.mark.slow
def test_two_processes_train_and_resume_on_a_cpu(folder):
    torchrun = "torchrun --standalone --nproc_per_node 2"
    command = f"{torchrun} {BIN}/fairseq-train bin {TINY} --eval-bleu {TWO} --save-dir two"
    first = plugin(f"{command} --max-update 1", folder)
    assert first.code == 0, first.err
    assert "training on 2 devices" in first.out and "bsz=16" in first.out
    second = plugin(f"{command} --max-update 3", folder)
    assert second.code == 0, second.err
    assert "Loaded checkpoint two/checkpoint_last.pt (epoch 1 @ 1 updates)" in second.out
    assert "num_updates=3," in second.out


# precision


def test_bf16_no_longer_means_a_tpu(started):
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, ["data", *TINY.split(), "--bf16"])
    assert args.tpu and distributed_utils.xm is None, "fairseq's fault is gone"
    cfg = convert_namespace_to_omegaconf(args)
    assert cfg.distributed_training.tpu and cfg.optimizer.tpu
    patches.bf16_without_tpu(cfg)
    assert not (cfg.common.tpu or cfg.distributed_training.tpu or cfg.optimizer.tpu)
    assert cfg.common.bf16


def test_fp16_without_a_gpu_is_refused_where_fairseq_crashes(started):
    from fairseq.optim.fp16_optimizer import FP16Optimizer

    if not torch.backends.cuda.is_built():
        with pytest.raises(AssertionError, match="CUDA"):
            FP16Optimizer.build_fp32_params(Namespace(), [torch.nn.Parameter(torch.zeros(2))])
    cfg = training_config()
    cfg.common.fp16 = True
    with pytest.raises(UserError, match="--fp16 needs a GPU.*--amp"):
        launch(cfg, started)
    cfg.common.memory_efficient_fp16 = True
    launch(cfg, started)
    assert len(started) == 1


@pytest.mark.parametrize("known", [True, False])
def test_bf16_says_where_it_gains_no_time(started, caplog, monkeypatch, known):
    monkeypatch.setattr(f"{patches.__package__}.precision.knows_bfloat16", lambda: known)
    cfg = training_config()
    launch(cfg, started)
    assert "bfloat16" not in caplog.text
    cfg.common.bf16 = True
    launch(cfg, started)
    assert ("no bfloat16: --bf16 rounds to it" in caplog.text) is not known


@pytest.mark.slow
def test_half_precision_outlives_its_overflows_on_a_cpu(folder):
    flags = "--memory-efficient-fp16 --fp16-init-scale 1048576 --save-dir half --max-update 12"
    result = plugin(f"fairseq-train bin {TINY} {flags}", folder)
    assert result.code == 0, result.err
    assert "gradient overflow detected" in result.out and "num_updates: 12 >=" in result.out
    state = torch.load(folder / "half" / "checkpoint_last.pt", weights_only=True)
    assert state["last_optimizer_state"]["loss_scale"] < 1048576
    assert all(torch.isfinite(value).all() for value in state["model"].values())


def test_applying_twice_changes_nothing():
    def now() -> list[Any]:
        return [distributed_utils.call_main, sys.excepthook, *logging.getLogger().handlers]

    before = now()
    patches.apply()
    assert now() == before
