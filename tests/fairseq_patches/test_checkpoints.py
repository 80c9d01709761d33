"""Checkpoint files of others, missing, damaged or forged: loaded, or refused in one line."""

import io
import pickle
import re
import zipfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from fairseq import checkpoint_utils
from omegaconf import OmegaConf
from refusals import refuses
from saved import Malicious, changed, save

import lev_plugins
from lev_plugins import Corrector, EncT5, LevenshteinEditor
from lev_plugins import fairseq_patches as patches
from lev_plugins.inference import averaging
from lev_plugins.inference.checkpoints import load_state

LOADS: list[Callable[[str], Any]] = [
    LevenshteinEditor.from_pretrained,
    Corrector.from_pretrained,
    EncT5.from_pretrained,
    load_state,
    lambda path: averaging.load(Path(path)),
    lambda path: checkpoint_utils.load_model_ensemble([path]),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dictionaries of letters, and checkpoints of every kind over them."""
    made = tmp_path_factory.mktemp("files")
    tiny.dictionaries(made / "bin")
    for kind in ("editor", "stock", "concat"):
        save(made / f"{kind}.pt", made / "bin", kind)
    return made


def compressed(path: Path, state: Any, form: str) -> None:
    """A file of one of the forms that torch reads."""
    if form == "pickle":
        path.write_bytes(pickle.dumps(state))
    else:
        torch.save(state, path, _use_new_zipfile_serialization=form == "zip")


PARTS = ("args", "cfg", "model", "extra_state", "task_state", "last_optimizer_state", "new")


@pytest.mark.parametrize("form", ["zip", "legacy", "pickle"])
@pytest.mark.parametrize("part", [*PARTS, "all"])
def test_a_pickle_is_refused_wherever_it_stands(folder, tmp_path, monkeypatch, part, form):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    path, victim = tmp_path / "evil.pt", tmp_path / "victim"
    state = torch.load(folder / "editor.pt", weights_only=True)
    harm = Malicious(victim)
    compressed(path, harm if part == "all" else {**state, part: harm}, form)
    for load in LOADS:
        with refuses(path):
            load(str(path))
        assert not victim.exists()


def test_nothing_of_ours_unpickles_what_torch_would_not():
    for path in Path(lev_plugins.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"\bpickle\.loads?\(|\bshelve\b|\bmarshal\b|allow_pickle=True", text)
        for call in re.findall(r"torch\.load\((.*)\)\n", text):
            assert re.search(r"weights_only\"?\s*[=:]\s*True", call), f"{path}: {call}"


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
    with refuses(path):
        patches.read_checkpoint(path)
    assert not victim.exists()


def test_without_the_list_fairseq_cannot_read_its_own_checkpoint(folder):
    allowed = torch.serialization.get_safe_globals()
    torch.serialization.clear_safe_globals()
    try:
        with refuses(folder / "stock.pt", "argparse.Namespace"):
            checkpoint_utils.load_checkpoint_to_cpu(str(folder / "stock.pt"))
    finally:
        torch.serialization.add_safe_globals(allowed)


def broken(folder: Path, path: Path, how: str) -> None:
    """A file that is no checkpoint."""
    whole = (folder / "stock.pt").read_bytes()
    contents = {"empty": b"", "head": whole[:40], "cut": whole[:-900], "text": b"hello\n" * 99}
    values: dict[str, Any] = {
        "list": [1, 2],
        "tensor": torch.zeros(2),
        "dict": {"a": torch.ones(2)},
    }
    if how in contents:
        path.write_bytes(contents[how])
    elif how == "folder":
        path.mkdir()
    elif how == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a", "b")
    elif how != "missing":
        torch.save(values[how], path)


HOW = ["missing", "folder", "empty", "head", "cut", "text", "zip", "list", "tensor", "dict"]


@pytest.mark.parametrize("how", HOW)
def test_what_is_no_checkpoint_is_named(folder, tmp_path, how):
    path = tmp_path / "broken.pt"
    broken(folder, path, how)
    for load in LOADS:
        with refuses(path):
            load(str(path))


WRONG = (None, 3, "x", [], {}, {"a": 1}, [[]], {"_name": 3}, Namespace())


@pytest.mark.parametrize("kind", ["editor", "stock"])
@pytest.mark.parametrize("part", [*PARTS[:-1], "optimizer_history", "cfg.model", "cfg.task"])
def test_parts_of_another_kind_are_refused_or_not_needed(folder, tmp_path, kind, part):
    needed, path = part in ("cfg", "model", "cfg.model", "cfg.task"), tmp_path / "evil.pt"
    for value in WRONG:
        state = torch.load(folder / f"{kind}.pt", weights_only=True)
        (state["cfg"] if "." in part else state)[part.rpartition(".")[2]] = value
        torch.save(state, path)
        try:
            Corrector.from_pretrained(str(path))
            assert not needed, value
        except lev_plugins.UserError as error:
            assert str(error)


def test_a_checkpoint_of_another_system_or_size_is_told(folder, tmp_path):
    for made, kind in ((LevenshteinEditor, "stock"), (EncT5, "editor"), (EncT5, "stock")):
        with refuses(folder / f"{kind}.pt", "trained with task"):
            made.from_pretrained(str(folder / f"{kind}.pt"))
    other = tmp_path / "other.pt"
    with refuses("enct5"):
        changed(folder / "stock.pt", other, "task", "_name", "enct5")
        Corrector.from_pretrained(str(other))
    for name in ("encoder_embed_dim", "encoder_layers"):
        state = torch.load(folder / "stock.pt", weights_only=True)
        vars(state["cfg"]["model"])[name] = 32
        torch.save(state, other)
        with refuses(other, "cannot be used here"):
            checkpoint_utils.load_model_ensemble([str(other)])


def test_data_paths_become_absolute_where_they_exist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    cfg = OmegaConf.create({"data": f"a:{tmp_path}/b:missing"})
    OmegaConf.set_struct(cfg, True)
    patches.absolute_data_paths(cfg)
    assert cfg.data == f"{tmp_path}/a:{tmp_path}/b:missing"
    for untouched in ("", None, "s3://bucket/a"):
        namespace = Namespace(data=untouched)
        patches.absolute_data_paths(namespace)
        assert namespace.data == untouched
    patches.absolute_data_paths(Namespace())
