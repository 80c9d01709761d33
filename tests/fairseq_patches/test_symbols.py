"""A checkpoint names the symbols of its dictionaries, and no other dictionary goes unnoticed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import saved
import tiny
import torch
from fairseq import checkpoint_utils, tasks
from fairseq.dataclass.configs import CheckpointConfig

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import training

KINDS = ["stock", "editor", "concat"]
SWAPPED = (
    r"another (source|target) dictionary \(symbol 6 is 'c' there and 'd' in .*preprocess yours"
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with two equal dictionaries."""
    return tiny.dictionaries(tmp_path / "bin")


def swap(data: Path, *sides: str) -> None:
    """The same symbols in another order: c and d change places."""
    for side in sides:
        path = data / f"dict.{side}.txt"
        lines = path.read_text().splitlines()
        lines[2:4] = lines[3], lines[2]
        path.write_text("".join(f"{line}\n" for line in lines))


def change(path: Path, **state: Any) -> None:
    """Another state of the task in a checkpoint."""
    torch.save({**torch.load(path, weights_only=True), "task_state": state}, path)


def decode(path: Path, kind: str = "stock") -> Any:
    task = tasks.setup_task(saved.parsed(path.parent / "bin", kind).task)
    return checkpoint_utils.load_model_ensemble([str(path)], task=task)


def resume(path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads a checkpoint as a training does that resumes from it."""
    cfg = saved.parsed(path.parent / "bin", kind)
    monkeypatch.setattr(training, "program_modules", lambda name: [])
    trainer = SimpleNamespace(
        checkpoint_suffix="",
        cfg=cfg,
        task=tasks.setup_task(cfg.task),
        load_checkpoint=lambda name, *resets, **more: checkpoint_utils.load_checkpoint_to_cpu(name),
        get_train_iterator=lambda **options: SimpleNamespace(epoch=1),
        lr_step=lambda epoch: None,
    )
    cfg = CheckpointConfig(restore_file=str(path), reset_dataloader=True)
    return checkpoint_utils.load_checkpoint(cfg, trainer)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_dictionary_in_another_order_is_refused(data, kind, monkeypatch):
    path = saved.save(data.parent / "model.pt", data, kind)
    resume(path, kind, monkeypatch)
    decode(path, kind)
    swap(data, "tgt", *(["src"] if kind == "concat" else []))
    with pytest.raises(UserError, match=SWAPPED):
        resume(path, kind, monkeypatch)
    with pytest.raises(UserError, match=SWAPPED):
        decode(path, kind)


def test_a_checkpoint_that_names_no_symbols_is_read_as_before(data, monkeypatch):
    path = saved.save(data.parent / "model.pt", data, "stock")
    change(path)
    swap(data, "src", "tgt")
    assert resume(path, "stock", monkeypatch)["task_state"] == {}
    (models, _) = decode(path)
    assert len(models) == 1


def test_our_task_knows_the_symbols_of_fairseqs(data):
    """As where ``levenshtein_editor`` reads what ``translation_lev`` has trained."""
    stock, ours = (tasks.setup_task(saved.parsed(data, kind).task) for kind in ("stock", "editor"))
    state = stock.state_dict()
    assert state["symbols"]["source"] is state["symbols"]["target"] == stock.src_dict.symbols
    ours.load_state_dict(state)
    assert ours.placeholder == len(stock.src_dict), "a placeholder and no more"
    swap(data, "src")
    moved = tasks.setup_task(saved.parsed(data, "editor").task)
    with pytest.raises(UserError, match="another source dictionary .symbol 6 is 'c' there"):
        moved.load_state_dict(state)


def test_no_other_checkpoint_is_compared_than_the_one_to_resume_from(data):
    path = saved.save(data.parent / "model.pt", data, "stock")
    swap(data, "src")
    assert "symbols" in checkpoint_utils.load_checkpoint_to_cpu(str(path))["task_state"]
