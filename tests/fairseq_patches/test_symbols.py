"""A checkpoint names the symbols of its dictionaries; another dictionary is refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import saved
import tiny
from fairseq import checkpoint_utils, tasks
from fairseq.dataclass.configs import CheckpointConfig
from refusals import refuses


def decode(path: Path, kind: str) -> Any:
    task = tasks.setup_task(saved.parsed(path.parent / "bin", kind).task)
    return checkpoint_utils.load_model_ensemble([str(path)], task=task)


def resume(path: Path, kind: str) -> Any:
    """Reads a checkpoint as a training does that resumes from it."""
    cfg = saved.parsed(path.parent / "bin", kind)
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


@pytest.mark.parametrize("kind", ["stock", "editor", "concat"])
def test_a_dictionary_in_another_order_is_refused(tmp_path, kind):
    data = tiny.dictionaries(tmp_path / "bin")
    path = saved.save(tmp_path / "model.pt", data, kind)
    for read in (resume, decode):
        read(path, kind)
    for side in ("tgt", *(["src"] if kind == "concat" else [])):
        lines = (data / f"dict.{side}.txt").read_text().splitlines()
        lines[2:4] = lines[3], lines[2]
        (data / f"dict.{side}.txt").write_text("".join(f"{line}\n" for line in lines))
    for read in (resume, decode):
        with refuses("dictionary", "symbol 6 is 'c' there and 'd' in ", data):
            read(path, kind)
