"""Whatever is read of others, forged or damaged: used, or refused in one line that names it.

Subjects (checkpoints of every kind, folders of pre-trained models) × damage (no such file, another
file, a pickle in every place, cut short, flipped at random).
"""

import argparse
import io
import pickle
import random
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import checkpoints
import numpy as np
import pytest
import test_prediction
import tiny
import torch
from damage import damaged, flipped, outcome
from fairseq import checkpoint_utils
from refusals import refuses
from safetensors.torch import load_file
from saved import Malicious, changed, save

import lev_plugins
from lev_plugins import Corrector, EncT5, LevenshteinEditor
from lev_plugins.cli import backbone
from lev_plugins.inference import averaging
from lev_plugins.inference.checkpoints import load_state

WEIGHTS = "model.safetensors"


class Subject(NamedTuple):
    """What is damaged.

    make: writes it; a file, or a folder whose files are damaged one after the other. load: reads
    all of it. turns: random damages of each file. exact: nothing that is cut short is ever used.
    """

    make: Callable[[Path], Path]
    load: Callable[[Path], Any]
    turns: int
    exact: bool = True


def checkpoint(kind: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        tiny.dictionaries(folder / "bin")
        return save(folder / f"{kind}.pt", folder / "bin", kind)

    return make


def enct5_checkpoint(folder: Path) -> Path:
    return test_prediction.save(folder / "model.pt", "tagging")


def predict(path: Path) -> None:
    assert len(EncT5.from_pretrained(str(path)).predict_tags(["a b", "", "c"])) == 3


def pretrained(kind: str, pickled: bool = False) -> Callable[[Path], Path]:
    """A folder of that kind, its weights perhaps a pickle."""

    def make(folder: Path) -> Path:
        made = getattr(checkpoints, kind)(folder / kind)
        if pickled:
            tensors = load_file(str(made / WEIGHTS))
            (made / WEIGHTS).unlink()
            torch.save(tensors, made / "pytorch_model.bin")
        return made

    return make


def inspected(folder: Path) -> None:
    backbone.main([str(folder)])


SUBJECTS = {
    "editor": Subject(
        checkpoint("editor"), lambda p: LevenshteinEditor.from_pretrained(str(p)), 40
    ),
    "stock": Subject(checkpoint("stock"), lambda p: Corrector.from_pretrained(str(p)), 40),
    "enct5": Subject(enct5_checkpoint, predict, 40),
    **{kind: Subject(pretrained(kind), inspected, 12, False) for kind in ("bert", "bart", "t5")},
    "bert, pickled": Subject(pretrained("bert", True), inspected, 24, False),
}


class Case(NamedTuple):
    """A subject that was made: where it is, its files, and how it is read."""

    path: Path
    files: list[Path]
    load: Callable[[Path], Any]

    def outcome(self) -> str:
        """``loaded``, or what was said: a file or setting is named."""
        return outcome(lambda: self.load(self.path), self.path, "--", "the checkpoint")

    def each(self) -> Iterator[tuple[Path, bytes]]:
        """Every file with its content, which comes back afterwards."""
        for path in self.files:
            whole = path.read_bytes()
            yield path, whole
            path.write_bytes(whole)


def case(name: str, folder: Path) -> Case:
    path = SUBJECTS[name].make(folder)
    files = [path]
    if path.is_dir():  # the pickle is what this folder has besides the other's
        files = [
            one for one in sorted(path.iterdir()) if "pickled" not in name or ".bin" in one.name
        ]
    return Case(path, files, SUBJECTS[name].load)


@pytest.mark.parametrize("name", SUBJECTS)
def test_it_is_loaded_whole_and_damaged_it_is_loaded_or_refused(name, tmp_path):
    rng, found = random.Random(11), Counter[bool]()
    turns, of = SUBJECTS[name].turns, case(name, tmp_path)
    assert of.outcome() == "loaded"
    for path, whole in of.each():
        for turn in range(turns):
            # every second: most of a file of numbers is noticed at once when bytes are missing
            path.write_bytes((flipped if turn % 2 else damaged)(whole, rng))
            said = of.outcome()
            found[said == "loaded"] += 1
    assert found[False] > turns // 6, "hardly anything was looked at"


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_pickle_in_place_of_a_file_is_not_run_and_what_is_cut_short_is_refused(name, tmp_path):
    victim, of, rng = tmp_path / "victim", case(name, tmp_path), random.Random(5)
    for path, whole in of.each():
        for protocol in (0, 4):
            path.write_bytes(pickle.dumps(Malicious(victim), protocol))
            assert of.outcome() != "loaded" and not victim.exists()
        places = [0, 1, 2, 3, 4, 64, len(whole) // 2, len(whole) - 22, len(whole) - 1]
        for place in [*places, *(rng.randrange(len(whole)) for _ in range(4))]:
            if SUBJECTS[name].exact and 0 <= place:
                path.write_bytes(whole[:place])
                assert of.outcome() != "loaded"


# what is forged in a checkpoint -------------------------------------------------------------------

LOADS: list[Callable[[str], Any]] = [
    LevenshteinEditor.from_pretrained,
    Corrector.from_pretrained,
    EncT5.from_pretrained,
    load_state,
    averaging.load,
    lambda path: checkpoint_utils.load_model_ensemble([path]),
]
PARTS = ("args", "cfg", "model", "extra_state", "task_state", "last_optimizer_state", "new")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dictionaries of letters, and checkpoints of every kind over them."""
    made = tmp_path_factory.mktemp("files")
    for kind in ("editor", "stock"):
        checkpoint(kind)(made)
    return made


@pytest.mark.parametrize("number, part", enumerate([*PARTS, "array", "all"]))
def test_a_pickle_is_refused_wherever_it_stands(folder, tmp_path, monkeypatch, number, part):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    path, victim = tmp_path / "evil.pt", tmp_path / "victim"
    state = torch.load(folder / "editor.pt", weights_only=True)
    harm: Any = Malicious(victim)
    if part == "array":
        harm = np.array([harm], dtype=object)
    found = harm if part == "all" else {**state, part: harm}
    if number % 3 == 2:
        path.write_bytes(pickle.dumps(found))
    else:  # the two forms that torch writes
        torch.save(found, path, _use_new_zipfile_serialization=number % 3 == 0)
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


BROKEN: dict[str, Any] = {
    "missing": None,
    "folder": None,
    "empty": b"",
    "text": b"hello\n" * 99,
    "zip": None,
    "list": [1, 2],
    "tensor": torch.zeros(2),
    "dict": {"a": torch.ones(2)},
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_no_checkpoint_is_named(tmp_path, how):
    path, content = tmp_path / "broken.pt", BROKEN[how]
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif how == "folder":
        path.mkdir()
    elif how == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a", "b")
    elif content is not None:
        torch.save(content, path)
    for load in LOADS:
        with refuses(path):
            load(str(path))


WRONG = (None, 3, "x", [], {}, {"a": 1}, [[]], {"_name": 3}, argparse.Namespace())


@pytest.mark.parametrize("kind", ["editor", "stock"])
def test_parts_of_another_kind_are_refused_or_not_needed(folder, tmp_path, kind):
    path = tmp_path / "evil.pt"
    for place, part in enumerate((*PARTS[:-1], "optimizer_history", "cfg.model", "cfg.task")):
        needed = part in ("cfg", "model", "cfg.model", "cfg.task")
        for value in WRONG if needed else WRONG[place % 3 :: 3]:
            state = torch.load(folder / f"{kind}.pt", weights_only=True)
            (state["cfg"] if "." in part else state)[part.rpartition(".")[2]] = value
            torch.save(state, path)
            said = outcome(lambda: Corrector.from_pretrained(str(path)))
            assert said != "loaded" or not needed, (part, value)


def test_a_checkpoint_of_another_system_or_size_is_told(folder, tmp_path):
    for made, kind in ((LevenshteinEditor, "stock"), (EncT5, "editor"), (EncT5, "stock")):
        with refuses(folder / f"{kind}.pt", "task"):
            made.from_pretrained(str(folder / f"{kind}.pt"))
    other = tmp_path / "other.pt"
    with refuses("enct5"):
        changed(folder / "stock.pt", other, "task", "_name", "enct5")
        Corrector.from_pretrained(str(other))
    for name in ("encoder_embed_dim", "encoder_layers"):
        state = torch.load(folder / "stock.pt", weights_only=True)
        vars(state["cfg"]["model"])[name] = 32
        torch.save(state, other)
        with refuses(other):
            checkpoint_utils.load_model_ensemble([str(other)])


def test_an_option_that_has_gone_since_is_left_out(folder, tmp_path):
    for kind, load in (("stock", Corrector), ("editor", LevenshteinEditor)):
        changed(folder / f"{kind}.pt", tmp_path / "older.pt", "task", "gone", 1)
        assert load.from_pretrained(str(tmp_path / "older.pt")) is not None
