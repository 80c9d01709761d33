"""Faults of fairseq, with fairseq alone: where one of these fails, its workaround can go.

For a move of the pin: ``bash tests/run.sh -m upgrade``.
"""

import inspect
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import fairseq.trainer
import numpy as np
import pytest
import tiny
import torch
from fairseq import checkpoint_utils, models, options
from fairseq.data import data_utils
from fairseq.dataclass.configs import DistributedTrainingConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed import utils as distributed_utils
from fairseq.file_io import PathManager
from fairseq.optim.fp16_optimizer import FP16Optimizer
from fairseq_cli import train
from omegaconf import OmegaConf
from saved import Malicious, parsed, save
from test_batches import OPERATIONS, STOCK_BATCHES, batches, begun

import lev_plugins  # noqa: F401  (keeps fairseq's own below ``__wrapped__``)
from lev_plugins.fairseq_patches.imports import HYDRA_SAYS

pytestmark = pytest.mark.upgrade
STOCK_LOAD = checkpoint_utils.load_model_ensemble_and_task.__wrapped__
TRAIN = "data --task translation --arch transformer --optimizer adam"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A stock transformer of fairseq's task, its data ``bin`` in the same folder."""
    tiny.dictionaries(tmp_path / "bin")
    return save(tmp_path / "stock.pt", tmp_path / "bin", "stock")


# batches ------------------------------------------------------------------------------------------


def test_fairseq_drops_the_last_batch_and_fails_on_none():
    size = {"num_tokens_fn": lambda i: 1, "required_batch_size_multiple": 8}
    assert list(data_utils.batch_by_size(np.arange(5), **size)) == []
    with pytest.raises(IndexError):
        data_utils.batch_by_size(np.arange(0), **size)


def test_fairseq_resumes_with_other_batches():
    first, later = (begun(epoch, STOCK_BATCHES)[1] for epoch in (1, 4))
    assert batches(first) != batches(later)


def test_a_program_that_stops_reading_early_is_aborted():
    ahead = f"{OPERATIONS}\niterator = BufferedIterator(1000, Operations())\nnext(iterator)"
    done = subprocess.run([sys.executable, "-c", ahead], capture_output=True, timeout=300)
    assert done.returncode == -signal.SIGABRT, "of fairseq's, or of this Python's"


# checkpoints --------------------------------------------------------------------------------------


def test_fairseq_copies_a_checkpoint_in_place(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"new"), other.write_bytes(b"old")
    before = other.stat().st_ino
    PathManager.copy.__wrapped__(str(one), str(other), overwrite=True)
    assert other.stat().st_ino == before


def test_fairseq_runs_a_pickle_where_torch_is_told_not_to_look(checkpoint, monkeypatch):
    victim = checkpoint.parent / "victim"
    state = torch.load(checkpoint, weights_only=True)
    torch.save({**state, "more": Malicious(victim)}, checkpoint)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    monkeypatch.setattr(torch, "load", torch.load.__wrapped__)
    checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
    assert victim.exists(), "the fault is gone"


def test_data_are_looked_for_from_the_folder_in_which_a_command_runs(checkpoint, monkeypatch):
    cfg, seen = parsed(checkpoint.parent / "bin", "stock"), []
    monkeypatch.setattr(cfg.task, "data", "bin")
    distributed_utils.call_main.__wrapped__(cfg, seen.append)
    assert seen[0].task.data == "bin", "fairseq keeps where data are: the fault is gone"
    state = torch.load(checkpoint, weights_only=True)
    task = state["cfg"]["task"]
    (task if isinstance(task, dict) else vars(task))["data"] = "bin"
    torch.save(state, checkpoint)
    monkeypatch.chdir("/")
    with pytest.raises(OSError, match="dict"):
        STOCK_LOAD([str(checkpoint)])


def test_a_checkpoint_has_no_masters_and_gives_a_task_nothing_back():
    assert "fp32_params" not in inspect.getsource(FP16Optimizer.state_dict.__wrapped__)
    assert "task_state" not in inspect.getsource(fairseq.trainer.Trainer.load_checkpoint)


# trainings ----------------------------------------------------------------------------------------


def test_fairseq_trains_without_a_thought_of_signals():
    sources = map(inspect.getsource, (train, fairseq.trainer, distributed_utils))
    assert not any("import signal" in source for source in sources), "the fault is gone"


def test_fairseq_starts_no_process_on_a_cpu_and_says_nothing(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    place, seen = DistributedTrainingConfig(), []
    place.distributed_world_size, place.distributed_init_method = 2, "tcp://127.0.0.1:29501"
    cfg = OmegaConf.create({"distributed_training": vars(place), "common": {"tpu": False}})
    distributed_utils.call_main.__wrapped__(cfg, seen.append)
    assert not seen
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "1"}
    for name, value in told.items():
        monkeypatch.setitem(os.environ, name, value)
    with pytest.raises(ZeroDivisionError):
        infer = distributed_utils._infer_torch_distributed_launch_init
        infer.__wrapped__(DistributedTrainingConfig())


def test_a_model_gets_a_copy_of_its_settings(monkeypatch):
    model = models.ARCH_MODEL_REGISTRY["enct5"]

    def build_model(given: Any, task: Any) -> Any:
        given.encoder_layers += 7
        return given

    monkeypatch.setattr(model, "build_model", build_model)
    cfg = OmegaConf.structured(models.MODEL_DATACLASS_REGISTRY["enct5"](_name="enct5"))
    given = models.build_model(cfg, None)
    assert given.encoder_layers == cfg.encoder_layers + 7, "the fault is gone"


# what commands read and say -----------------------------------------------------------------------


def test_reading_a_command_line_warns_of_what_hydra_has_deprecated():
    """A text of ``HYDRA_SAYS`` that nobody says any more can go."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        convert_namespace_to_omegaconf(
            options.parse_args_and_arch(options.get_training_parser(), TRAIN.split())
        )
    said = {str(one.message).strip() for one in heard}
    gone = [text for text in HYDRA_SAYS if not any(re.match(text, one) for one in said)]
    assert not gone, "the fault is gone, or hydra says it in other words"
