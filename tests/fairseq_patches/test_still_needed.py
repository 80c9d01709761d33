"""Faults of fairseq, with fairseq alone: where one of these fails, its workaround can go."""

import inspect
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fairseq.trainer
import pytest
import tiny
import torch
from fairseq import checkpoint_utils, models, options, tasks
from fairseq.dataclass.configs import CheckpointConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed import utils as distributed_utils
from fairseq.logging.progress_bar import JsonProgressBar, SimpleProgressBar
from fairseq.tasks import FairseqTask
from fairseq_cli import train
from fairseq_cli.train import should_stop_early
from omegaconf import OmegaConf
from saved import Malicious, parsed, save

import lev_plugins  # noqa: F401  (keeps fairseq's own below ``__wrapped__``)
from lev_plugins.fairseq_patches import logs

stock_load = checkpoint_utils.load_model_ensemble_and_task.__wrapped__


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A stock transformer of fairseq's task, its data ``bin`` in the same folder."""
    tiny.dictionaries(tmp_path / "bin")
    return save(tmp_path / "stock.pt", tmp_path / "bin", "stock")


def change(path: Path, **changes: Any) -> None:
    """Other settings of task and model in a checkpoint."""
    state = torch.load(path, weights_only=True)
    for section in (state["cfg"]["task"], state["cfg"]["model"]):
        named = section if isinstance(section, dict) else vars(section)
        named.update({name: value for name, value in changes.items() if name in named})
    torch.save(state, path)


# what is saved ------------------------------------------------------------------------------------


class Trainer:
    """Keeps what it is told to save; ``files`` has the name and the state of each checkpoint."""

    should_save_checkpoint_on_current_rank = always_call_state_dict_on_all_ranks = True
    data_parallel_rank = 0
    checkpoint_suffix = ""
    is_data_parallel_master = True
    task = SimpleNamespace()

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}

    def get_num_updates(self) -> int:
        return 5

    def consolidate_optimizer(self) -> None:
        pass

    def save_checkpoint(self, path: str, extra: dict[str, Any]) -> str:
        Path(path).write_bytes(b"saved")
        self.files[Path(path).name] = extra
        return path


@pytest.fixture
def memory():
    """What fairseq keeps as attributes of functions is empty, and is so again afterwards."""
    kept = [vars(one) for one in (checkpoint_utils.save_checkpoint, should_stop_early)]
    before = [dict(one) for one in kept]
    for one in kept:
        one.clear()
    yield
    for one, values in zip(kept, before):
        one.clear()
        one.update(values)


def saved_by_fairseq(folder: Path, **options: Any) -> Trainer:
    """A trainer after the end of an epoch, at which a checkpoint is due."""
    epoch = SimpleNamespace(
        epoch=1,
        end_of_epoch=lambda: True,
        state_dict=lambda: {"epoch": 2, "iterations_in_epoch": 0},
    )
    cfg = OmegaConf.structured(CheckpointConfig(save_dir=str(folder), **options))
    trainer = Trainer()
    checkpoint_utils.save_checkpoint(cfg, trainer, epoch, 1.5)
    return trainer


def test_the_best_score_of_a_training_outlives_it(tmp_path, memory):
    """``training.prepare_trainings`` need not forget it once this fails."""
    saved_by_fairseq(tmp_path)
    assert checkpoint_utils.save_checkpoint.best == 1.5, "the fault is gone"


def test_a_translation_task_keeps_no_symbols(checkpoint):
    """``symbols.keep_symbols`` can go once this fails, and a trainer gives tasks their state."""
    task = tasks.setup_task(parsed(checkpoint.parent / "bin", "stock").task)
    assert FairseqTask.state_dict(task) == {}, "the fault is gone"
    assert "task_state" not in inspect.getsource(fairseq.trainer.Trainer.load_checkpoint)


def test_fairseq_trains_without_a_thought_of_signals():
    """``preemption.save_on_signals`` can go once this fails."""
    sources = map(inspect.getsource, (train, fairseq.trainer, distributed_utils))
    assert not any("import signal" in source for source in sources), "the fault is gone"


# what is loaded -----------------------------------------------------------------------------------


def test_fairseq_runs_a_pickle_where_torch_is_told_not_to_look(checkpoint, monkeypatch):
    """``checkpoints.read_plain_checkpoints`` can leave ``torch.load`` alone once this
    fails.
    """
    victim = checkpoint.parent / "victim"
    state = torch.load(checkpoint, weights_only=True)
    torch.save({**state, "more": Malicious(victim)}, checkpoint)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    monkeypatch.setattr(torch, "load", torch.load.__wrapped__)
    checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
    assert victim.exists(), "the fault is gone"


def test_data_are_looked_for_from_the_folder_in_which_a_command_runs(checkpoint, monkeypatch):
    """``checkpoints.absolute_data_paths`` can go once this fails."""
    cfg, seen = parsed(checkpoint.parent / "bin", "stock"), []
    monkeypatch.setattr(cfg.task, "data", "bin")
    distributed_utils.call_main.__wrapped__(cfg, seen.append)
    assert seen[0].task.data == "bin", "fairseq keeps where data are: the fault is gone"
    change(checkpoint, data="bin")
    monkeypatch.chdir(checkpoint.parent)
    assert len(stock_load([str(checkpoint)])[0]) == 1
    monkeypatch.chdir("/")
    with pytest.raises(OSError, match="dict"):
        stock_load([str(checkpoint)])


# what a model and a user are told -----------------------------------------------------------------


def test_a_model_gets_a_copy_of_its_settings(monkeypatch):
    """``launch.settle_trainings`` can go once what a model finds out reaches the
    checkpoints.
    """
    model = models.ARCH_MODEL_REGISTRY["enct5"]

    def build_model(given: Any, task: Any) -> Any:
        given.encoder_layers += 7
        return given

    monkeypatch.setattr(model, "build_model", build_model)
    cfg = OmegaConf.structured(models.MODEL_DATACLASS_REGISTRY["enct5"](_name="enct5"))
    given = models.build_model(cfg, None)
    assert given.encoder_layers == cfg.encoder_layers + 7, "the fault is gone"


@pytest.mark.parametrize("bar", [SimpleProgressBar, JsonProgressBar])
def test_fairseq_shows_what_metrics_are_made_of(bar):
    """``progress.hide_private_stats`` can go once this fails."""
    shown = bar._format_stats.__wrapped__(bar([]), {"loss": 1.5, "_cell_0": 3.0})
    assert "_cell_0" in shown, "the fault is gone"


def test_reading_a_command_line_warns_of_what_hydra_has_deprecated():
    """A text of ``logs.HYDRA_SAYS`` that nobody says any more can go."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        words = "data --task translation --arch transformer --optimizer adam".split()
        convert_namespace_to_omegaconf(
            options.parse_args_and_arch(options.get_training_parser(), words)
        )
    said = {str(one.message).strip() for one in heard}
    gone = [text for text in logs.HYDRA_SAYS if not any(re.match(text, one) for one in said)]
    assert not gone, "the fault is gone, or hydra says it in other words"
