"""Faults of fairseq, with fairseq alone: where one of these fails, its workaround can go."""

import inspect
import re
import struct
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fairseq.trainer
import pytest
import tiny
import torch
from fairseq import checkpoint_utils, models, options, tasks
from fairseq.data import indexed_dataset
from fairseq.dataclass.configs import CheckpointConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed import utils as distributed_utils
from fairseq.file_io import PathManager
from fairseq.logging.progress_bar import JsonProgressBar, SimpleProgressBar
from fairseq.optim.lr_scheduler.reduce_lr_on_plateau import ReduceLROnPlateauLRSchedule
from fairseq.tasks import FairseqTask
from fairseq_cli import train
from fairseq_cli.train import should_stop_early
from omegaconf import OmegaConf
from saved import Malicious, parsed, save
from torch import nn

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


def test_nothing_tells_a_checkpoint_how_long_patience_has_lasted(tmp_path, memory):
    """``resuming.restore_early_stopping`` can go once a checkpoint holds the count."""
    cfg = OmegaConf.create({"checkpoint": CheckpointConfig(patience=9)})
    for _ in range(3):
        should_stop_early(cfg, 1.5)
    assert should_stop_early.num_runs == 2, "fairseq counts elsewhere: see restore_early_stopping"
    (extra,) = saved_by_fairseq(tmp_path).files.values()
    assert set(extra) == {"train_iterator", "val_loss", "best"}, "fairseq keeps more"


def test_the_best_score_of_a_training_outlives_it(tmp_path, memory):
    """``training.forget_last_training`` can go once this fails."""
    saved_by_fairseq(tmp_path)
    assert checkpoint_utils.save_checkpoint.best == 1.5, "the fault is gone"


def test_a_plateau_is_saved_without_its_bad_epochs():
    """``resuming.restore_early_stopping`` can go once the schedule keeps them (and sees the last
    loss).
    """
    plateau = SimpleNamespace(best=1.5, last_epoch=3, num_bad_epochs=2, cooldown_counter=0)
    kept = ReduceLROnPlateauLRSchedule.state_dict(SimpleNamespace(lr_scheduler=plateau))
    assert set(kept) == {"best", "last_epoch"}, "the fault is gone"


def test_checkpoints_written_beside_the_training_are_torn_and_alone(tmp_path, memory, monkeypatch):
    """``saving.refuse_asynchronous_checkpoints`` can go once this fails."""
    trainer = saved_by_fairseq(tmp_path, write_checkpoints_asynchronously=True)
    assert list(trainer.files) == ["checkpoint1.pt"]
    assert not (tmp_path / "checkpoint_last.pt").exists(), "the fault is gone"
    opened: list[str] = []

    def opena(path: str, mode: str) -> Any:
        opened.append(path)
        return open(path, mode)

    monkeypatch.setattr(PathManager, "opena", opena)
    name = str(tmp_path / "checkpoint1.pt")
    checkpoint_utils.torch_persistent_save.__wrapped__({"a": 1}, name, async_write=True)
    assert opened == [name], "written under another name first: the fault is gone"


def test_an_overflow_needs_a_gpu():
    """``precision.ignore_overflows_on_cpu`` can go once this fails."""
    assert "torch.tensor(0.0).cuda()" in inspect.getsource(fairseq.trainer), "the fault is gone"


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
    """``checkpoint_files.harden_checkpoint_loading`` can leave ``torch.load`` alone once this
    fails.
    """
    victim = checkpoint.parent / "victim"
    state = torch.load(checkpoint, weights_only=True)
    torch.save({**state, "more": Malicious(victim)}, checkpoint)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    monkeypatch.setattr(torch, "load", torch.load.__wrapped__)
    checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
    assert victim.exists(), "the fault is gone"


def test_fairseq_builds_a_model_before_it_looks_at_what_the_file_holds(checkpoint):
    """``checkpoint_files`` need not count parameters any more once this fails."""
    change(checkpoint, encoder_embed_dim=256, encoder_ffn_embed_dim=1024)
    built = 0

    def count(module: nn.Module, name: str, parameter: Any) -> None:
        nonlocal built
        built += 0 if parameter is None else parameter.numel()

    hook = nn.modules.module.register_module_parameter_registration_hook(count)
    try:
        with pytest.raises(RuntimeError, match="size mismatch"):
            stock_load([str(checkpoint)])
    finally:
        hook.remove()
    assert built > 2 * checkpoint.stat().st_size, "the fault is gone"


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


def test_an_index_that_is_damaged_gives_other_sentences_in_silence(tmp_path):
    """``indexed.check_index_files`` can go once this fails."""
    prefix, symbols = tmp_path / "train.src", tiny.dictionary()
    tiny.write_indexed(prefix, (tiny.sentence(line, symbols) for line in ("abc", "gfe")))
    index = bytearray(Path(f"{prefix}.idx").read_bytes())
    index[-8:] = struct.pack("<q", 0)  # the second sentence begins where the first does
    Path(f"{prefix}.idx").write_bytes(index)
    found = indexed_dataset.make_dataset.__wrapped__(str(prefix), "mmap")
    assert found[1].tolist() == found[0].tolist(), "the fault is gone"


# what a model and a user are told -----------------------------------------------------------------


def test_a_model_gets_a_copy_of_its_settings(monkeypatch):
    """``launch.resolve_model_config`` can go once what a model finds out reaches the
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
